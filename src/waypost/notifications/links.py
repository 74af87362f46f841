"""The links that let a person stop or choose: made when a message is composed, good for years."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from waypost.kernel import tokens
from waypost.kernel.tokens import Purpose, Token
from waypost.kernel.vault import TenantKey
from waypost.kernel.vocabulary import Category
from waypost.preferences.link_subject import LinkSubject

CONFIRM: Final = "confirm"
UNDO: Final = "undo"
_STOPPABLE: Final = frozenset({Category.MARKETING, Category.REMINDER})


@dataclass(frozen=True, slots=True)
class Links:
    """`public_url` is how the outside world reaches us, without a slash at its end."""

    public_url: str

    def unsubscribe(self, tenant_id: str, subject: LinkSubject, key: TenantKey) -> str:
        return f"{self.public_url}/u/{_token(Purpose.UNSUBSCRIBE, tenant_id, subject, key)}"

    def preferences(self, tenant_id: str, subject: LinkSubject, key: TenantKey) -> str:
        return f"{self.public_url}/p/{_token(Purpose.PREFERENCES, tenant_id, subject, key)}"

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


def list_headers(
    category: Category, unsubscribe_url: str, topic: str | None, tenant_id: str, domain: str
) -> tuple[tuple[str, str], ...]:
    """RFC 2369, RFC 8058 and RFC 2919, on what a person may stop: marketing, reminders and other topics they chose."""
    if not may_be_stopped(category, topic):
        return ()
    return (
        ("List-Unsubscribe", f"<{unsubscribe_url}>"),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
        ("List-Id", f"<{topic or category.word}.{tenant_id}.{domain}>"),
    )


def may_be_stopped(category: Category, topic: str | None) -> bool:
    """Marketing and reminders always; of the rest, what belongs to a topic and is not purely transactional."""
    return category in _STOPPABLE or (topic is not None and category is Category.OPERATIONAL)


def _token(purpose: Purpose, tenant_id: str, subject: LinkSubject, key: TenantKey) -> str:
    return tokens.write(Token(purpose=purpose, tenant_id=tenant_id, subject=subject.pack()), key)
