"""An event as it goes on the wire: the body of a webhook, or a CloudEvent for a broker."""

from datetime import datetime
from typing import Final

import msgspec

from waypost.outbox.catalogue import Data
from waypost.outbox.describe import Event
from waypost.outbox.ports import Outgoing

_encode: Final = msgspec.json.Encoder().encode


class WebhookBody(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    type: str
    timestamp: datetime
    data: Data


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """CloudEvents 1.0, structured mode. `sequence`, `partitionkey`, `tenantid` and `outoforder` are extensions."""

    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: datetime
    datacontenttype: str
    sequence: str
    partitionkey: str
    tenantid: str
    data: Data
    outoforder: bool = False


def webhook_body(event: Event) -> bytes:
    return _encode(WebhookBody(id=event.id, type=event.type.name, timestamp=event.told.at, data=event.data))


def outgoing(event: Event, tenant_id: str, *, out_of_order: bool = False) -> Outgoing:
    key = f"{tenant_id}/{event.subject}"
    cloud_event = CloudEvent(
        specversion="1.0",
        id=event.id,
        source=f"/tenants/{tenant_id}",
        type=event.type.name,
        subject=event.subject,
        time=event.told.at,
        datacontenttype="application/json",
        # As the sequence extension asks: text that sorts as the numbers do.
        sequence=f"{event.data.sequence:020d}",
        partitionkey=key,
        tenantid=tenant_id,
        data=event.data,
        outoforder=out_of_order,
    )
    return Outgoing(id=event.id, key=key, tenant_id=tenant_id, type=event.type.name, body=_encode(cloud_event))
