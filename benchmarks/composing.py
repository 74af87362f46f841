"""Jobs for the render process, made of the sample."""

from email.utils import format_datetime
from uuid import UUID

from benchmarks.sample import CONTENT, address_of, attributes_of
from waypost.adapters.render.pool import RenderPool
from waypost.kernel.clock import Clock
from waypost.templates.ports import MailHead, RenderJob

_VERSION = UUID(int=7)


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


async def composed_sample(clock: Clock) -> bytes:
    pool = RenderPool(clock=clock)
    try:
        message = (await pool.compose(jobs(1, clock)))[0]
    finally:
        await pool.close()
    assert isinstance(message, bytes), message
    return message
