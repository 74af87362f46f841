"""What is kept of events, sealed: under the recipient's key, or under the tenant's where nobody is named."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.vault import DataKey, TenantKey, place
from waypost.triggers.model import Event, News, Timer
from waypost.triggers.ports import SealedNews


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    id: str
    type: str
    occurred_at: datetime
    consumer: str
    data: JsonObject


class _KeptAbout(msgspec.Struct, frozen=True, array_like=True):
    subject_key: str
    event: _Kept


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """An event in a digest about which there may be news."""

    subject_key: str
    event: Event


_event: Final = msgspec.msgpack.Decoder(_Kept)
_item: Final[msgspec.msgpack.Decoder[JsonObject | _KeptAbout]] = msgspec.msgpack.Decoder(dict | _KeptAbout)
_object: Final = msgspec.msgpack.Decoder(dict)


def seal_event(key: DataKey, tenant_id: str, timer_id: UUID, event: Event) -> bytes:
    return key.seal(msgspec.msgpack.encode(_kept(event)), place("timer", tenant_id, timer_id))


def open_event(key: DataKey, tenant_id: str, timer: Timer) -> Event:
    return _told(_event.decode(key.open(timer.payload, place("timer", tenant_id, timer.id))))


def seal_item(key: DataKey, tenant_id: str, timer_id: UUID, item: JsonObject | KeptEvent) -> bytes:
    kept = _KeptAbout(item.subject_key, _kept(item.event)) if isinstance(item, KeptEvent) else item
    return key.seal(msgspec.msgpack.encode(kept), place("digest_item", tenant_id, timer_id))


def open_item(key: DataKey, tenant_id: str, timer_id: UUID, sealed: bytes) -> JsonObject | KeptEvent:
    kept = _item.decode(key.open(sealed, place("digest_item", tenant_id, timer_id)))
    return KeptEvent(kept.subject_key, _told(kept.event)) if isinstance(kept, _KeptAbout) else kept


def seal_news(key: TenantKey, tenant_id: str, news: News) -> SealedNews:
    """A cancellation says nothing that anybody needs later."""
    event = news.event
    plain = None if news.cancels else msgspec.msgpack.encode(event.data)
    return SealedNews(
        subject_key=news.subject_key,
        consumer=event.consumer,
        event_id=event.id,
        event_type=event.type,
        occurred_at=event.occurred_at,
        cancels=news.cancels,
        data=None if plain is None else key.seal(plain, _news_place(tenant_id, event.source)),
    )


def open_news(key: TenantKey, tenant_id: str, sealed: SealedNews) -> News:
    data: JsonObject = {}
    if sealed.data is not None:
        data = _object.decode(key.open(sealed.data, _news_place(tenant_id, f"{sealed.consumer}/{sealed.event_id}")))
    event = Event(
        id=sealed.event_id,
        type=sealed.event_type,
        occurred_at=sealed.occurred_at,
        consumer=sealed.consumer,
        data=data,
    )
    return News(subject_key=sealed.subject_key, event=event, cancels=sealed.cancels)


def _kept(event: Event) -> _Kept:
    return _Kept(event.id, event.type, event.occurred_at, event.consumer, event.data)


def _told(kept: _Kept) -> Event:
    return Event(id=kept.id, type=kept.type, occurred_at=kept.occurred_at, consumer=kept.consumer, data=kept.data)


def _news_place(tenant_id: str, source: str) -> str:
    return f"timer_news:{tenant_id}:{source}"
