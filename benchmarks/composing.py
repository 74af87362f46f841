"""Jobs for the render process, made of the sample."""

from email.utils import format_datetime
from uuid import UUID

from msgspec import structs

from benchmarks.sample import CONTENT, address_of, attributes_of
from waypost.adapters.render.pool import RenderPool
from waypost.kernel.clock import Clock
from waypost.notifications.links import list_headers
from waypost.templates.ports import MARK, Instrument, MailHead, RenderJob

_VERSION = UUID(int=7)
_STEERING = structs.replace(CONTENT, subject=CONTENT.subject.replace("{{ first_name }}", "{{ first_name|trim }}"))
_STEERING_VERSION = UUID(int=8)
_HERE = "http://127.0.0.1:8800"
_INSTRUMENT = Instrument(
    opens=f"{_HERE}/t/o/", clicks=f"{_HERE}/t/c/", version=_VERSION.bytes, key=bytes(32), spared=(f"{_HERE}/u/",)
)


def steering(job: RenderJob) -> RenderJob:
    """The same message, of a content whose subject does more than print: the render process must be asked."""
    return structs.replace(job, version_id=_STEERING_VERSION, content=_STEERING)


def jobs(count: int, clock: Clock, *, first: int = 0) -> list[RenderJob]:
    date = format_datetime(clock.now())
    return [
        RenderJob(
            tenant_id="bench",
            version_id=_VERSION,
            content=CONTENT,
            context=dict(attributes_of(number)),
            head=MailHead(
                message_id=f"{number:032x}@bench.example.com",
                sender="Bench <bench@example.com>",
                to=address_of(number),
                date=date,
            ),
        )
        for number in range(first, first + count)
    ]


def as_sent(job: RenderJob) -> RenderJob:
    """With all that marketing carries: tracked links, a pixel, and the headers by which it is stopped."""
    assert job.head is not None
    headers = (
        ("Auto-Submitted", "auto-generated"),
        *list_headers("marketing", "bench", "bench.example.com"),
        ("Feedback-ID", f"{'x' * 26}:marketing:bench:waypost"),
    )
    return structs.replace(
        job,
        head=structs.replace(job.head, headers=headers, unsubscribe=f"{_HERE}/u/{'x' * 91}"),
        context={**job.context, MARK: "x" * 62},
        instrument=_INSTRUMENT,
    )


async def composed_sample(clock: Clock) -> bytes:
    """A message as it goes out."""
    pool = RenderPool(clock=clock)
    try:
        message = (await pool.compose([as_sent(job) for job in jobs(1, clock)]))[0]
    finally:
        await pool.close()
    assert isinstance(message, bytes), message
    return message
