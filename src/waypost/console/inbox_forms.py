"""What the forms about inboxes say: lines and commas in, commands out, and refusals beside their fields."""

from collections.abc import Mapping
from typing import Final

from waypost.console.visit import Visit
from waypost.inbox.model import Audience, AudienceFilter, AudienceKind, PostCommand, PostContent
from waypost.kernel.errors import Refused

NOBODY_YET: Final[Mapping[str, str]] = {
    "audience": AudienceKind.EVERYONE.value,
    "recipients": "",
    "list": "",
    "all_tags": "",
    "any_tags": "",
    "locale": "",
    "title": "",
    "body": "",
    "cta_url": "",
    "sender": "",
    "topic": "",
    "ttl": "",
}
_BESIDE: Final = {"inbox": "key", "filter": "all_tags"}
"""Where a refusal is shown whose pointer names no field of a form."""


def fields_of(visit: Visit) -> dict[str, str]:
    return {name: visit.given(name) for name in NOBODY_YET}


def command_of(fields: Mapping[str, str]) -> PostCommand:
    """Only what belongs to the chosen audience counts: the other fields may stay filled in."""
    kind = AudienceKind(fields["audience"]) if fields["audience"] in set(AudienceKind) else AudienceKind.EVERYONE
    wanted = AudienceFilter(
        all_tags=_words(fields["all_tags"]), any_tags=_words(fields["any_tags"]), locale=fields["locale"] or None
    )
    return PostCommand(
        audience=Audience(
            kind=kind,
            recipients=_words(fields["recipients"]) if kind is AudienceKind.USERS else (),
            list_key=fields["list"] or None if kind is AudienceKind.LIST else None,
            filter=wanted if kind is AudienceKind.FILTER else None,
        ),
        content=PostContent(
            title=fields["title"],
            body=fields["body"],
            cta_url=fields["cta_url"] or None,
            sender=fields["sender"] or None,
        ),
        topic=fields["topic"] or None,
        ttl=fields["ttl"] or None,
    )


def ttl_of(text: str) -> dict[str, str]:
    """One line each: `default 30d`, `billing 90d`. A line of one word has no time, which is refused as such."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip():
            name, _, time = line.strip().partition(" ")
            found[name.rstrip(":=")] = time.strip()
    return found


def written_ttl(ttl: Mapping[str, str]) -> str:
    return "\n".join(f"{name} {time}" for name, time in sorted(ttl.items()))


def troubles_of(refusal: Refused) -> dict[str, str]:
    """By field of the form; the first that is wrong with each."""
    found: dict[str, str] = {}
    for error in refusal.errors:
        steps = [step for step in error.pointer.split("/") if step]
        name = steps[1] if len(steps) > 1 and steps[0] == "audience" else steps[0] if steps else "audience"
        found.setdefault(_BESIDE.get(name, name), error.message)
    return found or {"audience": refusal.detail}


def _words(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word]
