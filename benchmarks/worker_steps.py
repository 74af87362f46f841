"""What a message costs in the worker, step by step: each step alone, in this process, on the same two hundred messages.

The rest of the worker's time is the event loop, asyncpg's own work, and the kernel's for sockets."""

import io
import logging
import os
import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import cast
from uuid import UUID

import msgspec
from asyncpg.pgproto import pgproto
from prometheus_client import CollectorRegistry

from benchmarks.composing import as_sent, jobs
from benchmarks.results import Step
from benchmarks.sample import address_of, attributes_of
from waypost.adapters.postgres.settlement_rows import SettlementRows
from waypost.adapters.render import wire
from waypost.adapters.render.errand import ComposeMail
from waypost.adapters.render.frames import Frames
from waypost.adapters.render.limits import MOST_PLAIN_BYTES, RenderLimits
from waypost.adapters.render.plain_book import PlainBook
from waypost.adapters.render.plain_mail import PlainMail
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.adapters.vendors.smtp.envelope import Features, announce
from waypost.adapters.vendors.smtp.replies import ReplyReader
from waypost.channels.model import Outcome, OutcomeKind, OutgoingEmail
from waypost.delivery.model import Claimed
from waypost.delivery.rules import close
from waypost.kernel.clock import SystemClock
from waypost.kernel.ids import mint_at
from waypost.kernel.tokens import Purpose, Stamp
from waypost.kernel.vault import TenantKey, place
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention
from waypost.mailbox import return_path
from waypost.notifications.links import Links
from waypost.notifications.model import Payload
from waypost.workers.metrics import WorkerMetrics
from waypost.workers.outcomes import OutcomeLog

_MESSAGES = 200
_TENANT = "bench"
_ACCEPTED = Outcome(kind=OutcomeKind.ACCEPTED, code=250, reply="250 2.0.0 Ok", latency_ms=3)
_payloads = msgspec.msgpack.Decoder(Payload)


def worker_steps(rounds: int) -> list[Step]:
    logging.getLogger("waypost.worker").setLevel(logging.INFO)
    vault = LocalVault(MasterKey(os.urandom(32)))
    key = vault.tenant_key(_TENANT, vault.new_tenant_key(_TENANT))
    claimed = [_claimed(key, number) for number in range(_MESSAGES)]
    clock, now = SystemClock(), datetime.now(UTC)
    links = Links("http://127.0.0.1:8800", "bench.example.com")
    write_links = links.of_kind(claimed[0], frozenset(), key)
    assert write_links is not None
    write_path = return_path.Writer(_TENANT, key, "bench.example.com")
    mark = Stamp(Purpose.MESSAGE, _TENANT, key)
    work = [as_sent(job) for job in jobs(_MESSAGES, clock)]
    rendition = Rendition(wire.Parts.of(work[0].content), RenderLimits(), None, work[0].instrument)
    said = [rendition.say(job.context, None, None, job.head) for job in work if job.head is not None]
    answers = wire.part(said)[wire.LENGTH_BYTES + 1 :]
    book: PlainBook[PlainMail] = PlainBook(MOST_PLAIN_BYTES)
    of_child = ComposeMail(book).read_part(memoryview(answers), [(0, job) for job in work], Frames())

    maker = book.of(work[0])
    assert maker is not None

    def fill() -> list[bytes]:
        return [message for job in work if (message := maker.made(job))]

    messages = fill()
    assert messages == of_child
    mails = [OutgoingEmail("b@bench.example.com", (address_of(0),), data, wire_safe=True) for data in messages]
    settled = [close(one, _ACCEPTED, now, random.random) for one in claimed]
    metrics, log = WorkerMetrics(CollectorRegistry()), OutcomeLog(clock, for_people=False, stream=_Nowhere())
    features, reader = Features(pipelining=True, size=True, eight_bit=True), ReplyReader()

    def open_one(one: Claimed) -> object:
        data_key = key.unwrap(one.data_key or b"", place("data_key", _TENANT, one.recipient_id))
        return _payloads.decode(data_key.open(one.payload, place("payload", _TENANT, one.id)))

    def each(do: Callable[[Claimed], object]) -> Callable[[], object]:
        return lambda: [do(one) for one in claimed]

    steps: Sequence[tuple[str, Callable[[], object]]] = (
        ("open the seals of key and inputs", each(open_one)),
        ("unsubscribe link and list headers", each(lambda one: write_links(one.recipient_id, one.address_id))),
        ("name the message to pixel and links", each(lambda one: mark(one.id.bytes))),
        ("return path", each(lambda one: write_path(one.id))),
        # Not all kept at once: a process this small would give the memory back and ask for it anew each time.
        (
            "look up and encode values, make the head, fill the skeleton",
            lambda: [len(maker.made(job) or b"") for job in work],
        ),
        ("announce to the server", lambda: [announce(mail, features) for mail in mails]),
        ("read its replies", lambda: [_hear(reader) for _ in mails]),
        ("decide what its answer means", each(lambda one: close(one, _ACCEPTED, now, random.random))),
        ("columns for the settlement", lambda: SettlementRows.of(settled).arguments()),
        ("metrics", lambda: metrics.settled(settled, 0.1)),
        ("line of the log", lambda: log.write(settled)),
    )
    return [Step(name, _cost(do, max(rounds // _MESSAGES, 1))) for name, do in steps]


def _cost(do: Callable[[], object], rounds: int) -> float:
    """Microseconds of CPU per message: the middle of several rounds."""
    do()
    costs: list[float] = []
    for _ in range(max(rounds, 3)):
        before = time.process_time()
        do()
        costs.append((time.process_time() - before) / _MESSAGES * 1e6)
    return median(costs)


def _hear(reader: ReplyReader) -> object:
    reader.feed(b"250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n354 End data with <CR><LF>.<CR><LF>\r\n")
    return reader.feed(b"250 2.0.0 Ok\r\n")


def _claimed(key: TenantKey, number: int) -> Claimed:
    notification, recipient = _read(mint_at(datetime.now(UTC))), _read(UUID(bytes=os.urandom(16)))
    wrapped, data_key = key.new_data_key(place("data_key", _TENANT, recipient))
    payload = Payload(address=address_of(number), context=dict(attributes_of(number)))
    return Claimed(
        tenant_id=_TENANT,
        id=notification,
        retention=Retention.MARKETING,
        n=1,
        claims=0,
        channel=Channel.EMAIL,
        category=Category.MARKETING,
        priority=Priority.NORMAL,
        expires_at=datetime.now(UTC) + timedelta(days=7),
        recipient_id=recipient,
        address_id=_read(UUID(bytes=os.urandom(16))),
        version_id=_read(UUID(int=7)),
        locale=None,
        payload=data_key.seal(msgspec.msgpack.encode(payload), place("payload", _TENANT, notification)),
        secrets=None,
        data_key=wrapped,
        gate_changed=False,
    )


def _read(value: UUID) -> UUID:
    """As rows hold it."""
    return cast("UUID", pgproto.UUID(value.bytes))


class _Nowhere(io.StringIO):
    def write(self, text: str) -> int:
        return len(text)
