"""Composing at dispatch: open the frozen inputs, render, make the message. Implements delivery's `Composer`."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.utils import format_datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.channels.model import OutgoingEmail
from waypost.delivery.model import Claimed, State
from waypost.delivery.ports import ComposeAnswer, Composed, ComposedForInbox, Postponed, Withheld
from waypost.kernel.address import split_mailbox
from waypost.kernel.clock import Clock
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vault import DataKey, Keyring, SealBroken, place
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Work
from waypost.notifications.compose_inapp import inbox_copy
from waypost.notifications.inputs import InputsBook, Shared, open_payload
from waypost.notifications.instruments import Instruments
from waypost.notifications.kinds import House, Kind
from waypost.notifications.links import UNSUBSCRIBE_URL, Header, Links
from waypost.notifications.model import Payload
from waypost.notifications.outgoing import PLAIN, Outgoing, Voice
from waypost.notifications.sender import SenderIdentity
from waypost.notifications.tails import Luggage, Tails
from waypost.templates.context import spoken
from waypost.templates.model import Wording
from waypost.templates.ports import RenderedParts, Renderer, RenderFailure, RenderJob
from waypost.templates.versions import Versions
from waypost.tenants.ports import TenantStore

_MOST_CACHED: Final = 2_000
_IN_A_ROW: Final = 10
"""Messages, after which others on this loop get their time: a mail server waits while nobody hears its answers."""
_FINISHED_IN_A_ROW: Final = 40
_ERASED: Final = Withheld(state=State.SUPPRESSED, reason="recipient_erased")
_NO_CONTENT: Final = Withheld(state=State.FAILED, reason="content_missing")
_secrets_decoder = msgspec.msgpack.Decoder(dict[str, JsonValue])


class _Opened(msgspec.Struct, frozen=True):
    claimed: Claimed
    key: DataKey
    kind: Kind
    payload: Payload
    job: RenderJob
    voice: Voice
    luggage: Luggage | None = None


class MailComposer:
    """Keeps tenants' keys and published contents at hand: both never change."""

    def __init__(
        self,
        *,
        work: Work,
        tenants: TenantStore,
        keyring: Keyring,
        versions: Versions,
        renderer: Renderer,
        identity: SenderIdentity,
        links: Links,
        outgoing: Outgoing,
        instruments: Instruments,
        tails: Tails,
        inputs: InputsBook,
        clock: Clock,
    ) -> None:
        self._work = work
        self._tenants = tenants
        self._keyring = keyring
        self._versions = versions
        self._renderer = renderer
        self._identity = identity
        self._links = links
        self._outgoing = outgoing
        self._instruments = instruments
        self._tails = tails
        self._inputs = inputs
        self._clock = clock
        self._contents: OrderedDict[tuple[str, UUID, str | None], Wording] = OrderedDict()
        self._houses: OrderedDict[str, House] = OrderedDict()

    async def compose(self, claimed: Sequence[Claimed]) -> Sequence[ComposeAnswer]:
        await self._fetch_missing(claimed)
        await self._instruments.prepare(self._work, {one.tenant_id for one in claimed})
        await self._outgoing.refresh({one.tenant_id for one in claimed})
        shared = await self._inputs.of_many(self._work, ((one.tenant_id, one.payload) for one in claimed))
        opened = await self._open_all(claimed, shared)
        tails: Mapping[Luggage, bytes | None] = {}
        if carried := [one.luggage for one in opened if isinstance(one, _Opened) and one.luggage is not None]:
            tails = await self._tails.make(carried)
            opened = [_with_luggage(one, tails) for one in opened]
        going = [one for one in opened if isinstance(one, _Opened)]
        letters = [one for one in going if one.job.head is not None]
        notes = [one.job for one in going if one.job.head is None] if len(letters) < len(going) else []
        messages: Iterator[bytes | RenderFailure] = iter(())
        if letters:
            messages = iter(
                await self._signed(letters, await self._renderer.compose([one.job for one in letters]), tails)
            )
        renditions = iter(await self._renderer.render(notes) if notes else ())
        answers: list[ComposeAnswer] = []
        for number, one in enumerate(opened, 1):
            if number % _FINISHED_IN_A_ROW == 0:
                await asyncio.sleep(0)
            if not isinstance(one, _Opened):
                answers.append(one)
            elif one.job.head is None:
                answers.append(_for_inbox(one, next(renditions)))
            else:
                tail = b"" if one.luggage is None else tails[one.luggage] or b""
                answers.append(self._finish(one, next(messages), tail))
        return answers

    async def _fetch_missing(self, claimed: Sequence[Claimed]) -> None:
        wanted: dict[str, set[tuple[UUID, str | None]]] = {}
        for one in claimed:
            if (one.tenant_id, one.version_id, one.locale) not in self._contents or one.tenant_id not in self._houses:
                wanted.setdefault(one.tenant_id, set()).add((one.version_id, one.locale))
        for tenant_id, frozen in wanted.items():
            async with self._work.begin(tenant_id) as tx:
                tenant = await self._tenants.find(tx, tenant_id)
                if tenant is None:
                    continue
                self._houses[tenant_id] = House(await self._keyring.of(tx), tenant.mode)
                for (version_id, locale), wording in (await self._versions.load(tx, list(frozen))).items():
                    self._contents[tenant_id, version_id, locale] = wording
        # The batch at hand is never evicted: it is the newest.
        while len(self._contents) > max(_MOST_CACHED, len(claimed)):
            self._contents.popitem(last=False)
        while len(self._houses) > max(_MOST_CACHED, len(claimed)):
            self._houses.popitem(last=False)

    async def _open_all(self, claimed: Sequence[Claimed], shared: Shared) -> list[_Opened | Withheld | Postponed]:
        date = format_datetime(self._clock.now())
        opened: list[_Opened | Withheld | Postponed] = []
        kind: Kind | None = None
        for number, one in enumerate(claimed, 1):
            if number % _IN_A_ROW == 0:
                await asyncio.sleep(0)
            if kind is None or not kind.takes_in(one):
                kind = self._kind_of(one)
            if one.data_key is None:
                opened.append(_ERASED)
            else:
                opened.append(_NO_CONTENT if kind is None else self._open(one, one.data_key, kind, shared, date))
        return opened

    def _kind_of(self, one: Claimed) -> Kind | None:
        wording = self._contents.get((one.tenant_id, one.version_id, one.locale))
        house = self._houses.get(one.tenant_id)
        if wording is None or house is None:
            return None
        return Kind(one, house, wording, self._links.of_kind(one, wording.mentioned, house.key))

    def _open(self, one: Claimed, wrapped: bytes, kind: Kind, shared: Shared, date: str) -> _Opened | Withheld:
        house, wording = kind.house, kind.wording
        try:
            key = house.key.unwrap(wrapped, place("data_key", one.tenant_id, one.recipient_id))
            payload = open_payload(key, one.tenant_id, one, shared)
            context = payload.context
            if one.secrets is not None:
                secrets = key.open(one.secrets, place("secrets", one.tenant_id, one.id))
                context.update(_secrets_decoder.decode(secrets))
        except SealBroken:
            return Withheld(state=State.FAILED, reason="seal_broken")
        unsubscribe, list_headers = None, tuple[Header, ...]()
        if kind.links is not None:
            urls = kind.links(one.recipient_id, one.address_id)
            context.update(urls)
            if kind.links.headers:
                unsubscribe, list_headers = urls[UNSUBSCRIBE_URL], kind.links.headers
        head = luggage = instrument = None
        voice = PLAIN
        if one.channel is not Channel.INAPP:
            content = wording.content
            if payload.tracks and content.html is not None:
                tracked = kind.tracked_by(self._instruments, payload.tracks)
                if tracked is not None:
                    tracked.mark(one.id, context)
                    instrument = tracked.instrument
            if payload.files or content.files:
                luggage = Luggage(one.tenant_id, content.files, payload.files, content.html is not None)
            mailbox = one.way.mailbox if one.way is not None else None
            head = self._identity.head(one.id, payload, date, list_headers, luggage, mailbox, unsubscribe)
            voice = self._outgoing.voice(one.tenant_id, head.sender)
            if not voice.allowed:
                return Withheld(state=State.FAILED, reason="domain_not_verified")
        locale, timezone = spoken(context)
        job = RenderJob(
            tenant_id=one.tenant_id,
            version_id=wording.id,
            content=wording.content,
            context=context,
            locale=locale or one.locale,
            timezone=timezone,
            head=head,
            instrument=instrument,
        )
        return _Opened(one, key, kind, payload, job, voice, luggage)

    async def _signed(
        self,
        letters: Sequence[_Opened],
        messages: Sequence[bytes | RenderFailure],
        tails: Mapping[Luggage, bytes | None],
    ) -> Sequence[bytes | RenderFailure]:
        """Signed last, and here: no key ever enters the render process."""
        if all(one.voice.signer is None for one in letters):
            return messages
        at, signed = self._clock.now(), list[bytes | RenderFailure]()
        waiting: list[tuple[int, bytes, Callable[[], bytes]]] = []
        for number, (one, message) in enumerate(zip(letters, messages, strict=True)):
            if number % _IN_A_ROW == 0:
                await asyncio.sleep(0)
            signer = one.voice.signer
            if signer is not None and isinstance(message, bytes):
                tail = (tails[one.luggage] if one.luggage else None) or b""
                sign = signer.begin(message, at, tail)
                if signer.takes_long:
                    waiting.append((number, message, sign))
                else:
                    message = sign() + message
            signed.append(message)
        if waiting:
            fields = await asyncio.to_thread(lambda: [sign() for _, _, sign in waiting])
            for (number, message, _), own in zip(waiting, fields, strict=True):
                signed[number] = own + message
        return signed

    def _finish(self, opened: _Opened, message: bytes | RenderFailure, tail: bytes) -> Composed | Withheld:
        if not isinstance(message, bytes):
            return Withheld(state=State.FAILED, reason=message.code, detail={"message": message.message})
        payload, is_ascii = opened.payload, message.isascii()
        recipients: tuple[str, ...] = (payload.address,)
        if payload.cc or payload.bcc:
            recipients += tuple(
                mailbox.address.text for text in (*payload.cc, *payload.bcc) if (mailbox := split_mailbox(text))
            )
        email = OutgoingEmail(
            opened.kind.return_path(self._identity, opened.claimed, opened.voice.return_domain),
            recipients,
            message,
            wire_safe=True,
            tail=tail,
            utf8=not is_ascii,
            is_ascii=is_ascii,
        )
        return Composed(claimed=opened.claimed, email=email, key=opened.key)


def _with_luggage(
    one: _Opened | Withheld | Postponed, tails: Mapping[Luggage, bytes | None]
) -> _Opened | Withheld | Postponed:
    if not isinstance(one, _Opened) or one.luggage is None:
        return one
    if one.luggage not in tails:
        return Postponed()
    return one if tails[one.luggage] is not None else Withheld(state=State.FAILED, reason="attachment_missing")


def _for_inbox(opened: _Opened, parts: RenderedParts | RenderFailure) -> ComposedForInbox | Withheld:
    if isinstance(parts, RenderFailure):
        return Withheld(state=State.FAILED, reason=parts.code, detail={"message": parts.message})
    return ComposedForInbox(claimed=opened.claimed, copy=inbox_copy(opened.claimed, parts, opened.key))
