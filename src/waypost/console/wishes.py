"""What a person wants, as their page shows it: choices, and the history of their consent."""

from collections.abc import Mapping, Sequence
from typing import Final

from waypost.console.visit import Visit
from waypost.preferences.model import Choices, Consent

_MOST_SHOWN: Final = 20


async def wishes_of(visit: Visit, recipient_id: str) -> dict[str, object]:
    """For `recipient_wishes.html`."""
    choices = await visit.app.wishes.choices.get(visit.tx, visit.scope, recipient_id)
    consents = await visit.app.wishes.consents.page(visit.tx, visit.scope, recipient_id, None, _MOST_SHOWN)
    checked = await visit.app.wishes.consents.check(visit.tx, visit.scope, recipient_id)
    return {
        "quiet_hours": str(choices.quiet_hours) if choices.quiet_hours else "",
        "choices": _lines(choices),
        "consents": [_word(consent) for consent in consents.items],
        "intact": checked.first_fault is None,
    }


def _lines(choices: Choices) -> Sequence[Mapping[str, object]]:
    lines: list[Mapping[str, object]] = []
    for channel, choice in sorted(choices.channels.items()):
        said: list[tuple[str, bool]] = [] if choice.enabled is None else [("everything", choice.enabled)]
        said += [(category.word, on) for category, on in sorted(choice.categories.items())]
        said += sorted(choice.topics.items())
        lines += [{"what": f"{what} on {channel.word}", "on": on} for what, on in said]
    return lines


def _word(consent: Consent) -> dict[str, object]:
    tones = {"granted": "good", "pending": "busy", "withdrawn": "held"}
    return {
        "state": consent.state.value,
        "tone": tones.get(consent.state.value, "calm"),
        "about": f"{consent.topic or 'all marketing'} on {consent.channel.word}",
        "source": consent.source,
        "text_version": consent.text_version or "",
        "at": consent.at,
    }
