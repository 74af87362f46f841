"""Sending again what has come to an end: a new notification, made of what the old one was made of.

It goes the way of every message, so whatever keeps this person from being written to now is asked now.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from waypost.delivery.model import ENDS
from waypost.delivery.ports import DeliveryStore
from waypost.kernel.attachments import FileRef, NewFile
from waypost.kernel.blobs import Blobs
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, Refused
from waypost.kernel.ids import mint, show
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.tracking import Tracking
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction
from waypost.notifications.again import SaidBefore, SendAgain
from waypost.notifications.drafts import Words
from waypost.notifications.model import RESEND_OF, RESENT, Accepted, Once, Payload
from waypost.notifications.opening import Opener
from waypost.notifications.ports import NotificationStore, StoredNotification, SubmitCall, TimelineNote
from waypost.recipients.model import Target
from waypost.templates.model import Sendable
from waypost.templates.rules import write_only_names
from waypost.templates.versions import Versions
from waypost.tracking.rules import CLICKS, OPENS

_MISSING_VARIABLE: Final = "missing_variable"


class Resend:
    def __init__(
        self,
        *,
        submit: SubmitCall,
        store: NotificationStore,
        delivery: DeliveryStore,
        opener: Opener,
        versions: Versions,
        blobs: Blobs,
        keyring: Keyring,
        clock: Clock,
    ) -> None:
        self._submit = submit
        self._store = store
        self._delivery = delivery
        self._opener = opener
        self._versions = versions
        self._blobs = blobs
        self._keyring = keyring
        self._clock = clock

    async def __call__(
        self, tx: Transaction, scope: Scope, notification_id: UUID, *, key: str | None = None
    ) -> Accepted:
        """Under one `key` a notification is sent again once."""
        scope.demand(Permission.NOTIFICATIONS_SEND)
        stored = (await self._store.by_ids(tx, [notification_id])).get(notification_id)
        if stored is None:
            raise NotFound("There is no such notification.")
        state = (await self._delivery.states(tx, [notification_id]))[notification_id].state
        if state not in ENDS:
            message = f"It is {state.word} and may still go out. Wait until it has ended, or cancel it first."
            raise Conflict(message, code="not_ended")
        payload = await self._opener.payload(tx, stored)
        if payload is None:
            raise Conflict("The recipient has been erased, and the content with them.", code="erased")
        command = await self._command(tx, stored, payload, key)
        notes = mint(self._clock), mint(self._clock)
        at = self._clock.now()
        try:
            accepted = await self._submit(tx, scope, command)
        except Refused as refusal:
            # There is no field that the caller could mend.
            if refusal.code == _MISSING_VARIABLE:
                raise _secrets_gone() from None
            raise Conflict(refusal.detail, code=refusal.code) from None
        [copy] = accepted.notifications
        if await self._store.resend_of(tx, copy.id) is None:
            await self._store.add_notes(tx, at, _notes(stored, copy.id, notes))
        return accepted

    async def _command(
        self, tx: Transaction, stored: StoredNotification, payload: Payload, key: str | None
    ) -> SendAgain:
        frozen = stored.version_id, stored.locale
        wording = (await self._versions.load(tx, [frozen]))[frozen]
        secrets = await self._opener.secrets(tx, stored)
        context = payload.context | secrets
        read = {name.partition(".")[0] for name in wording.mentioned}
        hidden = write_only_names(await self._versions.schema_of(tx, stored.version_id))
        if (hidden & read) - context.keys():
            raise _secrets_gone()
        now = self._clock.now()
        return SendAgain(
            to=(Target(id=stored.external_id, must_exist=True),),
            to_is_list=False,
            channels=(stored.channel,),
            template=stored.template_key or show("tpv", stored.version_id),
            chosen=SaidBefore(
                version=Sendable(id=stored.version_id, wordings={stored.locale or "": wording}),
                category=stored.category,
                topic=stored.topic,
                secret_names=frozenset(secrets),
                words=Words(stored.locale, wording, context),
            ),
            priority=stored.priority,
            # As long as the first one had.
            expires_at=now + (stored.expires_at - stored.send_at),
            sender=payload.sender,
            reply_to=payload.reply_to,
            cc=payload.cc,
            bcc=payload.bcc,
            headers=payload.headers,
            attachments=await self._files(tx, payload.files),
            metadata=payload.metadata,
            tracking=Tracking(opens=bool(payload.tracks & OPENS), clicks=bool(payload.tracks & CLICKS)),
            once=None if key is None else Once(key=f"rsd:{show('ntf', stored.id)}:{key}"),
        )

    async def _files(self, tx: Transaction, files: tuple[FileRef, ...]) -> tuple[NewFile, ...]:
        if not files:
            return ()
        tenant_key = await self._keyring.of(tx)
        contents = await self._blobs.open(tx, tx.tenant_id, tenant_key, sorted({file.digest for file in files}))
        if any(file.digest not in contents for file in files):
            message = "One of its attachments is not kept any more. Send a new message with the file."
            raise Conflict(message, code="attachment_missing")
        return tuple(
            NewFile(
                filename=file.filename,
                content=contents[file.digest],
                content_type=file.content_type,
                content_id=file.content_id,
            )
            for file in files
        )


def _notes(stored: StoredNotification, copy_id: UUID, ids: tuple[UUID, UUID]) -> Sequence[TimelineNote]:
    """Each says which the other is. Of one category, they are kept equally long."""
    told = (
        (stored.id, RESENT, {"resent_as": show("ntf", copy_id)}),
        (copy_id, RESEND_OF, {RESEND_OF: show("ntf", stored.id)}),
    )
    return [
        TimelineNote(notification_id=about, retention=stored.retention, id=id_, event=event, reason=None, detail=detail)
        for id_, (about, event, detail) in zip(ids, told, strict=True)
    ]


def _secrets_gone() -> Conflict:
    message = "Its one-time secrets were dropped when it was sent. Send a new message with new ones."
    return Conflict(message, code="secrets_gone")
