"""Topics: the tenant's own labels, about which people choose."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, NotFound, PreconditionFailed, Refused, refuse
from waypost.kernel.paging import Page, bad_cursor, decode_cursor, encode_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.preferences.model import Topic
from waypost.preferences.ports import PolicyStore, TopicStore
from waypost.preferences.rules import LONGEST_KEY, MOST_TOPICS, is_topic_key
from waypost.tenants.audit import Audit

LONGEST_TITLE = 200
LONGEST_DESCRIPTION = 2_000
_LISTING: Final = "topics"
_ORDER: Final = re.compile(r"-?[0-9]{1,7}", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicFields:
    """All that a PUT says: a topic is put whole."""

    title: str
    category: Category
    opted_in: bool
    description: str | None = None
    mandatory: bool = False
    position: int = 0
    channels: Mapping[Channel, bool] = field(default_factory=dict[Channel, bool])


class Topics:
    def __init__(self, *, store: TopicStore, policies: PolicyStore, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._policies = policies
        self._audit = audit
        self._clock = clock

    async def put(
        self, tx: Transaction, scope: Scope, key: str, fields: TopicFields, *, version: int | None = None
    ) -> Topic:
        """Makes or changes it; what is queued already asks the gate again."""
        scope.demand(Permission.TOPICS_WRITE)
        _check(key, fields)
        standing = await self._store.find_for_change(tx, key)
        if version is not None and (standing is None or standing.version != version):
            raise PreconditionFailed("The topic was changed meanwhile. Read it again.")
        if standing is None and len(await self._store.all(tx)) >= MOST_TOPICS:
            raise refuse("/key", "too_many", f"A tenant has at most {MOST_TOPICS} topics.")
        if standing is not None and standing.category is not fields.category:
            message = "A topic keeps its category: consent was given for what it was. Make another topic."
            raise refuse("/category", "category_fixed", message)
        now = self._clock.now()
        topic = Topic(
            key=key,
            title=fields.title,
            description=fields.description,
            category=fields.category,
            opted_in=fields.opted_in,
            mandatory=fields.mandatory,
            position=fields.position,
            channels=fields.channels,
            version=standing.version + 1 if standing else 1,
            created_at=standing.created_at if standing else now,
            updated_at=now,
        )
        if (
            standing is not None
            and replace(topic, version=standing.version, updated_at=standing.updated_at) == standing
        ):
            return standing
        await self._store.put(tx, topic)
        await self._watch(tx)
        action = "topic.changed" if standing else "topic.created"
        await self._audit.record(tx, scope, action, key, {"version": topic.version})
        return topic

    async def get(self, tx: Transaction, scope: Scope, key: str) -> Topic:
        scope.demand(Permission.TOPICS_READ)
        found = await self._store.find(tx, key) if is_topic_key(key) else None
        if found is None:
            raise NotFound("There is no topic of this key.")
        return found

    async def all(self, tx: Transaction, scope: Scope) -> Sequence[Topic]:
        """In the tenant's order."""
        scope.demand(Permission.TOPICS_READ)
        return await self._store.all(tx)

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[Topic]:
        """In the tenant's order."""
        scope.demand(Permission.TOPICS_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, _read_place(decode_cursor(_LISTING, cursor)), size + 1)
        return page_of(found, size, lambda last: encode_cursor(_LISTING, f"{last.position} {last.key}"))

    async def delete(self, tx: Transaction, scope: Scope, key: str) -> None:
        """What people have chosen about it stays: should it come back, an opt-out still holds."""
        scope.demand(Permission.TOPICS_WRITE)
        if not is_topic_key(key) or not await self._store.delete(tx, key):
            raise NotFound("There is no topic of this key.")
        await self._watch(tx)
        await self._audit.record(tx, scope, "topic.deleted", key)

    async def _watch(self, tx: Transaction) -> None:
        quiet = (await self._policies.policy(tx)).quiet_hours
        await self._policies.watch_everyone(tx, always=quiet is not None)


def _read_place(position: str | None) -> tuple[int, str] | None:
    if position is None:
        return None
    order, _, key = position.partition(" ")
    if _ORDER.fullmatch(order) is None or not is_topic_key(key):
        raise bad_cursor()
    return int(order), key


def _check(key: str, fields: TopicFields) -> None:
    errors: list[FieldError] = []
    if not is_topic_key(key):
        message = (
            f"A key has 1 to {LONGEST_KEY} lower-case letters, digits and `._-`, and begins with one of the former."
        )
        errors.append(FieldError(pointer="/key", code="invalid_id", message=message))
    if not 1 <= len(fields.title) <= LONGEST_TITLE or not fields.title.strip() or not fields.title.isprintable():
        message = f"A title has 1 to {LONGEST_TITLE} printable characters."
        errors.append(FieldError(pointer="/title", code="invalid_name", message=message))
    said = fields.description
    if said is not None and (not 1 <= len(said) <= LONGEST_DESCRIPTION or not said.strip()):
        message = f"A description has 1 to {LONGEST_DESCRIPTION} characters; null for none."
        errors.append(FieldError(pointer="/description", code="out_of_range", message=message))
    if fields.mandatory and fields.category is Category.MARKETING:
        message = "Marketing is never mandatory."
        errors.append(FieldError(pointer="/mandatory", code="marketing_is_free", message=message))
    if fields.mandatory and not fields.opted_in:
        message = "A mandatory topic is opted in by default."
        errors.append(FieldError(pointer="/default", code="mandatory_is_in", message=message))
    if errors:
        raise Refused(errors[0].message, code=errors[0].code, errors=errors)
