"""Calls that may be repeated: the first one's answer is kept in the transaction of its effect.

A crash rolls both back, so no key is ever stuck. A twin waits for the one in flight and then gets its answer.
"""

import re
from collections.abc import Sequence, Set
from datetime import timedelta
from typing import Final

import msgspec

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, FieldError, MalformedRequest, Refused
from waypost.kernel.vault import Keyring, SealBroken
from waypost.kernel.work import Transaction
from waypost.tenants.model import KeptCall, StoredAnswer
from waypost.tenants.ports import IdempotencyStore

KEPT_FOR: Final = timedelta(hours=24)
_KEY: Final = re.compile(r"[\x20-\x7e]{1,255}\Z")
_HEADER: Final = "/headers/Idempotency-Key"


class KeyedCall(msgspec.Struct, frozen=True, gc=False):
    """One of many calls in a request, under a key of its own. Its answer is not kept: its effect tells it again."""

    key: str
    fingerprint: bytes


class Idempotency:
    def __init__(self, *, store: IdempotencyStore, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._keyring = keyring
        self._clock = clock

    async def claim(self, tx: Transaction, key: str, route: str, fingerprint: bytes) -> StoredAnswer | None:
        """None: do the work, then `keep` its answer. Otherwise the work is done and this was the answer."""
        _check(key)
        now = self._clock.now()
        oldest = now - KEPT_FOR
        while not await self._store.claim(tx, key, route, fingerprint, now):
            call = await self._store.find(tx, key)
            if call is None:
                # Another transaction freed the key between the two statements.
                continue
            if call.created_at >= oldest:
                return await self._answer(tx, key, call, route, fingerprint)
            await self._store.forget(tx, key, oldest)
        return None

    async def claim_many(self, tx: Transaction, route: str, calls: Sequence[KeyedCall]) -> Sequence[bool]:
        """For each, whether its key is free or was used for the very same call. Waits for twins in flight."""
        if not calls:
            return []
        now = self._clock.now()
        wanted = {call.key: call.fingerprint for call in reversed(calls)}
        if await self._store.claim_many(tx, route, wanted, now):
            return [wanted[call.key] == call.fingerprint for call in calls]
        await self._store.forget_many(tx, list(wanted), now - KEPT_FOR)
        await self._store.claim_many(tx, route, wanted, now)
        kept = await self._store.find_many(tx, list(wanted))
        return [(known := kept.get(call.key)) is None or known == (route, call.fingerprint) for call in calls]

    async def keep_new(
        self, tx: Transaction, route: str, answered: Sequence[tuple[KeyedCall, StoredAnswer]]
    ) -> Set[str]:
        """Takes the keys of calls that are done, each with its answer. Those it names were used before: what was done
        under them must be undone."""
        if not answered:
            return frozenset()
        tenant_key, now = await self._keyring.of(tx), self._clock.now()
        calls = {
            call.key: KeptCall(
                route=route,
                fingerprint=call.fingerprint,
                status=answer.status,
                answer=tenant_key.seal(answer.body, _place(tx, call.key)),
                created_at=now,
            )
            for call, answer in answered
        }
        return calls.keys() - await self._store.keep_new(tx, calls)

    async def used_among(self, tx: Transaction, keys: Sequence[str]) -> Set[str]:
        """By calls of whichever route, and however long ago."""
        return set(await self._store.find_many(tx, keys)) if keys else frozenset()

    async def release_many(self, tx: Transaction, route: str, calls: Sequence[KeyedCall]) -> None:
        """The keys of calls that were refused are free again."""
        if calls:
            await self._store.release_many(tx, route, {call.key: call.fingerprint for call in calls})

    async def keep(self, tx: Transaction, key: str, status: int, answer: bytes) -> None:
        sealed = (await self._keyring.of(tx)).seal(answer, _place(tx, key))
        await self._store.keep(tx, key, status, sealed)

    async def _answer(self, tx: Transaction, key: str, call: KeptCall, route: str, fingerprint: bytes) -> StoredAnswer:
        if call.route != route or call.fingerprint != fingerprint:
            message = "This Idempotency-Key was used for another request. Use a new key for a new request."
            error = FieldError(pointer=_HEADER, code="idempotency_key_reused", message=message)
            raise Refused(message, code="idempotency_key_reused", errors=[error])
        if call.status is None or call.answer is None:
            raise Conflict("The first request with this Idempotency-Key left no answer.", code="in_progress")
        try:
            body = (await self._keyring.of(tx)).open(call.answer, _place(tx, key))
        except SealBroken as broken:
            raise RuntimeError("A stored answer does not open under its tenant's key.") from broken
        return StoredAnswer(status=call.status, body=body)


def is_key(key: str) -> bool:
    return _KEY.match(key) is not None


def _check(key: str) -> None:
    if not is_key(key):
        message = "An Idempotency-Key has 1 to 255 printable ASCII characters."
        error = FieldError(pointer=_HEADER, code="invalid_idempotency_key", message=message)
        raise MalformedRequest(message, code="invalid_idempotency_key", errors=[error])


def _place(tx: Transaction, key: str) -> str:
    return f"answer:{tx.tenant_id}:{key}"
