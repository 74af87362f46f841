"""The links that let a person stop or choose: made when a message is composed, good for years."""

from collections.abc import Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.delivery.model import Claimed
from waypost.kernel import tokens
from waypost.kernel.ids import show_ulid
from waypost.kernel.tokens import Purpose, Stamp, Token
from waypost.kernel.vault import TenantKey
from waypost.kernel.vocabulary import Category
from waypost.preferences.link_subject import LinkSubject, pack_matter, pack_person
from waypost.templates.context import LINKS

UNSUBSCRIBE_URL: Final = "unsubscribe_url"
CONFIRM: Final = "confirm"
UNDO: Final = "undo"
FEEDBACK: Final = "Feedback-ID"
"""By what a mailbox provider counts complaints: which words, of what kind, whose. Never by person."""
_FEEDBACK_SENDER: Final = "waypost"
_MOST_STAMPS: Final = 2_000
_STOPPABLE: Final = frozenset({Category.MARKETING, Category.REMINDER})


Header = tuple[str, str]


class LinksOfKind:
    """Writes the links of messages that differ only in whom they are for."""

    __slots__ = ("_matter", "_preferences", "_preferences_stamp", "_unsubscribe", "_unsubscribe_stamp", "headers")

    def __init__(
        self,
        public_url: str,
        stamps: tuple[Stamp, Stamp],
        matter: bytes,
        headers: tuple[Header, ...],
        *,
        with_preferences: bool,
    ) -> None:
        self._unsubscribe = f"{public_url}/u/"
        self._preferences = f"{public_url}/p/" if with_preferences else None
        self._unsubscribe_stamp, self._preferences_stamp = stamps
        self._matter = matter
        self.headers = headers
        """What mail programs are told, besides where to unsubscribe; nothing where nobody can."""

    def __call__(self, recipient_id: UUID, address_id: UUID | None) -> dict[str, str]:
        subject = pack_person(recipient_id, address_id) + self._matter
        urls = {UNSUBSCRIBE_URL: self._unsubscribe + self._unsubscribe_stamp(subject)}
        if self._preferences is not None:
            urls["preferences_url"] = self._preferences + self._preferences_stamp(subject)
        return urls


@dataclass(frozen=True, slots=True)
class Links:
    """`public_url` is how the outside world reaches us, without a slash at its end; `domain` names our lists."""

    public_url: str
    domain: str
    _stamps: dict[str, tuple[Stamp, Stamp]] = field(default_factory=dict[str, tuple[Stamp, Stamp]], repr=False)
    """What writes a tenant's links of either kind."""

    def of_kind(self, one: Claimed, mentioned: Set[str], key: TenantKey) -> LinksOfKind | None:
        """What writes the links of all messages that are like this one; None where there are none to write."""
        stoppable = may_be_stopped(one.category, one.topic)
        if not stoppable and mentioned.isdisjoint(LINKS):
            return None
        stamps = self._stamps.get(one.tenant_id)
        if stamps is None:
            stamps = self._new_stamps(one.tenant_id, key)
        headers: tuple[Header, ...] = ()
        if stoppable:
            name = one.topic or one.category.word
            feedback = (FEEDBACK, f"{show_ulid(one.version_id).lower()}:{name}:{one.tenant_id}:{_FEEDBACK_SENDER}")
            headers = (*list_headers(name, one.tenant_id, self.domain), feedback)
        matter = pack_matter(one.channel, one.topic or "")
        return LinksOfKind(self.public_url, stamps, matter, headers, with_preferences="preferences_url" in mentioned)

    def unsubscribe(self, tenant_id: str, subject: LinkSubject, key: TenantKey) -> str:
        return f"{self.public_url}/u/{_token(Purpose.UNSUBSCRIBE, tenant_id, subject, key)}"

    def preferences(self, tenant_id: str, subject: LinkSubject, key: TenantKey) -> str:
        return f"{self.public_url}/p/{_token(Purpose.PREFERENCES, tenant_id, subject, key)}"

    def _new_stamps(self, tenant_id: str, key: TenantKey) -> tuple[Stamp, Stamp]:
        if len(self._stamps) >= _MOST_STAMPS:
            self._stamps.clear()
        made = Stamp(Purpose.UNSUBSCRIBE, tenant_id, key), Stamp(Purpose.PREFERENCES, tenant_id, key)
        self._stamps[tenant_id] = made
        return made

    def confirm(self, tenant_id: str, subject: LinkSubject, key: TenantKey, expires_at: datetime) -> str:
        return f"{self.public_url}/p/{grant_token(CONFIRM, tenant_id, subject, key, expires_at)}"


def grant_token(audience: str, tenant_id: str, subject: LinkSubject, key: TenantKey, expires_at: datetime) -> str:
    """What may add contact: fresh, and for one answer only."""
    token = Token(
        purpose=Purpose.OPT_IN,
        tenant_id=tenant_id,
        subject=subject.pack(),
        audience=audience,
        expires_at=expires_at.replace(microsecond=0),
    )
    return tokens.write(token, key)


def list_headers(name: str, tenant_id: str, domain: str) -> tuple[Header, ...]:
    """RFC 8058 and RFC 2919; that of RFC 2369 is each message's own (`MailHead.unsubscribe`)."""
    return (
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
        ("List-Id", f"<{name.replace('_', '-')}.{tenant_id}.{domain}>"),
    )


def may_be_stopped(category: Category, topic: str | None) -> bool:
    """Marketing and reminders always; of the rest, what belongs to a topic and is not purely transactional."""
    return category in _STOPPABLE or (topic is not None and category is Category.OPERATIONAL)


def _token(purpose: Purpose, tenant_id: str, subject: LinkSubject, key: TenantKey) -> str:
    return tokens.write(Token(purpose=purpose, tenant_id=tenant_id, subject=subject.pack()), key)
