"""The trigger map as its authors see it. A tenant's row stands in for the platform's row of the same key."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

import msgspec

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, PreconditionFailed, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.notifications.rules import choose_category
from waypost.templates.versions import Versions
from waypost.tenants.audit import Audit
from waypost.triggers.compile import compile_spec, default_key
from waypost.triggers.model import Rule, Trigger, TriggerSpec
from waypost.triggers.ports import TriggerStore

_LISTING: Final = "triggers"


class Triggers:
    def __init__(self, *, store: TriggerStore, versions: Versions, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._versions = versions
        self._audit = audit
        self._clock = clock

    async def create(self, tx: Transaction, scope: Scope, spec: TriggerSpec, key: str | None) -> Trigger:
        scope.demand(Permission.TRIGGERS_WRITE)
        name, now = key or default_key(spec), self._clock.now()
        rule = await self._read(tx, spec, name)
        trigger = Trigger(
            tenant_id=tx.tenant_id,
            id=mint(self._clock),
            key=name,
            spec=spec,
            rule=rule,
            version=1,
            created_at=now,
            updated_at=now,
        )
        if not await self._store.add(tx, trigger):
            raise _taken()
        await self._audit.record(tx, scope, "trigger.created", show("trg", trigger.id), {"key": name})
        return trigger

    async def get(self, tx: Transaction, scope: Scope, trigger_id: UUID) -> Trigger:
        scope.demand(Permission.TRIGGERS_READ)
        return _there(await self._store.find(tx, trigger_id))

    async def page(
        self, tx: Transaction, scope: Scope, event_type: str | None, cursor: str | None, limit: int | None
    ) -> Page[Trigger]:
        """The tenant's own and the platform's, newest first."""
        scope.demand(Permission.TRIGGERS_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, event_type, decode_id_cursor(_LISTING, cursor), size + 1)
        return page_of(found, size, lambda trigger: encode_id_cursor(_LISTING, trigger.id))

    async def overridden(self, tx: Transaction, triggers: Sequence[Trigger]) -> set[UUID]:
        """Those of the platform that a row of the tenant stands in for."""
        theirs = [trigger.id for trigger in triggers if trigger.is_platforms and tx.tenant_id != trigger.tenant_id]
        standing = await self._store.standing_for(tx, theirs)
        return {each for each, trigger in standing.items() if trigger.id != each}

    async def change(
        self,
        tx: Transaction,
        scope: Scope,
        trigger_id: UUID,
        changes: JsonObject,
        *,
        key: str | None = None,
        expected_version: int | None = None,
    ) -> Trigger:
        """Only the fields given change. Timers that it has planned follow what it says when they are due."""
        scope.demand(Permission.TRIGGERS_WRITE)
        trigger = await self._own(tx, trigger_id)
        if expected_version is not None and expected_version != trigger.version:
            raise PreconditionFailed("The trigger has been changed meanwhile. Read it again.")
        name, spec = key or trigger.key, changed_spec(trigger.spec, changes)
        if name != trigger.key and await self._is_taken(tx, trigger, name):
            raise _taken()
        changed = replace(
            trigger,
            key=name,
            spec=spec,
            rule=await self._read(tx, spec, name),
            version=trigger.version + 1,
            updated_at=self._clock.now(),
        )
        await self._store.change(tx, changed)
        await self._audit.record(tx, scope, "trigger.changed", show("trg", trigger_id), {"key": name})
        return changed

    async def remove(self, tx: Transaction, scope: Scope, trigger_id: UUID) -> None:
        scope.demand(Permission.TRIGGERS_WRITE)
        trigger = await self._own(tx, trigger_id)
        await self._store.remove(tx, trigger_id)
        await self._audit.record(tx, scope, "trigger.removed", show("trg", trigger_id), {"key": trigger.key})

    async def _own(self, tx: Transaction, trigger_id: UUID) -> Trigger:
        own = await self._store.find(tx, trigger_id, for_change=True)
        if own is None and await self._store.find(tx, trigger_id) is not None:
            message = "This trigger is the platform's. Make one with the same key to stand in for it."
            raise Conflict(message, code="platform_trigger")
        return _there(own)

    async def _is_taken(self, tx: Transaction, trigger: Trigger, key: str) -> bool:
        twins = await self._store.by_key(tx, key)
        return any(one.tenant_id == trigger.tenant_id and one.id != trigger.id for one in twins)

    async def _read(self, tx: Transaction, spec: TriggerSpec, key: str) -> Rule:
        rule = compile_spec(spec, key)
        for place, channel in enumerate(rule.sends.channels if rule.sends else ()):
            sendable = await self._versions.find_active(tx, spec.template or "", channel)
            if sendable is None:
                pointer = f"/channels/{place}" if spec.channels and len(spec.channels) > 1 else "/template"
                message = "There is no published template with this key and channel."
                raise refuse(pointer, "unknown_template", message)
            if rule.sends is not None and sendable.template is not None:
                choose_category(rule.sends.category, sendable.template.category)
        return rule


def changed_spec(spec: TriggerSpec, changes: JsonObject) -> TriggerSpec:
    """None takes a field away."""
    return msgspec.convert({**msgspec.to_builtins(spec), **changes}, TriggerSpec)


def _there(trigger: Trigger | None) -> Trigger:
    if trigger is None:
        raise NotFound("There is no such trigger.")
    return trigger


def _taken() -> Conflict:
    return Conflict("There is a trigger with this key. Give another `key`, or change that one.", code="key_taken")
