"""Files of a call: read where they lie elsewhere, kept once, and named in each notification that carries them."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from waypost.delivery.model import State
from waypost.kernel.attachments import (
    FileLimits,
    FileRef,
    NewFile,
    check_files,
    too_large,
    too_large_together,
    type_of,
)
from waypost.kernel.blobs import Blobs, ObjectStore, digest_of
from waypost.kernel.errors import FieldError, Refused, refuse
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.notifications.intent import Intent, going

KEPT_AFTER_EXPIRY: Final = timedelta(days=30)
"""Files can be looked at for so long after the last moment at which their message could have gone out."""
_POINTER: Final = "/attachments"


class Attacher:
    def __init__(self, *, blobs: Blobs, objects: ObjectStore, keyring: Keyring, limits: FileLimits) -> None:
        self._blobs = blobs
        self._objects = objects
        self._keyring = keyring
        self._limits = limits

    async def read(self, tenant_id: str, intents: Sequence[Intent]) -> dict[bytes, bytes]:
        """Gives each intent its files, or refuses it; answers with their contents by digest."""
        contents: dict[bytes, bytes] = {}
        for intent in intents:
            if not intent.command.attachments:
                continue
            try:
                intent.files = tuple(await self._read(tenant_id, intent, contents))
            except Refused as refusal:
                intent.refuse(refusal)
        return contents

    async def keep(self, tx: Transaction, intents: Sequence[Intent], contents: dict[bytes, bytes]) -> None:
        """Stores what notifications that go out will carry, and whose they are."""
        carried = [
            (file.digest, one.row)
            for intent in going(intents)
            if intent.files
            for one in intent.drafts
            if one.row.channel is Channel.EMAIL and one.row.status is not State.SUPPRESSED
            for file in intent.files
        ]
        if not carried:
            return
        until: dict[bytes, datetime] = {}
        for digest, row in carried:
            end = row.expires_at + KEPT_AFTER_EXPIRY
            until[digest] = max(until.get(digest, end), end)
        key = await self._keyring.of(tx)
        await self._blobs.keep(tx, key, {digest: contents[digest] for digest in until}, until)
        await self._blobs.note_uses(tx, key, [(digest, row.recipient_id) for digest, row in carried])

    async def _read(self, tenant_id: str, intent: Intent, contents: dict[bytes, bytes]) -> Iterable[FileRef]:
        given = intent.command.attachments
        if errors := list(check_files(given, self._limits, pointer=_POINTER)):
            raise Refused("The attachments must be mended.", code=errors[0].code, errors=errors)
        files, together = list[FileRef](), 0
        for place, file in enumerate(given):
            content = file.content
            if content is None:
                content = await self._read_object(tenant_id, file, f"{_POINTER}/{place}/object")
            together += len(content)
            if together > self._limits.together:
                raise _refused(too_large_together(_POINTER, self._limits))
            digest = digest_of(content)
            contents[digest] = content
            files.append(FileRef(digest, file.filename, type_of(file), len(content), file.content_id))
        return files

    async def _read_object(self, tenant_id: str, file: NewFile, pointer: str) -> bytes:
        try:
            content = await self._objects.read(tenant_id, file.object or "", self._limits.each)
        except ValueError:
            raise _refused(too_large(pointer, self._limits)) from None
        if content is None:
            raise refuse(pointer, "unknown_object", "There is no such object.")
        return content


def _refused(error: FieldError) -> Refused:
    return Refused(error.message, code=error.code, errors=[error])
