"""Entering a server and leaving it again, to see whether it lets us in."""

from waypost.adapters.vendors.smtp.jobs import Job
from waypost.adapters.vendors.smtp.options import Dial, SmtpOptions
from waypost.adapters.vendors.smtp.outcomes import SessionRefused
from waypost.adapters.vendors.smtp.protocol import Connection
from waypost.adapters.vendors.smtp.session import Opener
from waypost.channels.model import Outcome
from waypost.channels.model import OutcomeReason as Why


class _Nothing:
    """A pool without work."""

    def next_job(self) -> Job | None:
        return None

    def job_ahead(self) -> Job | None:
        return None

    def is_free(self, connection: Connection) -> None:
        connection.quit()

    def give_back(self, job: Job, reason: Why) -> None: ...

    def withdraw(self, job: Job) -> None: ...

    def has_ended(self, connection: Connection) -> None: ...

    def is_gone(self, connection: Connection) -> None: ...

    def was_turned_away(self, outcome: Outcome) -> None: ...


async def try_to_enter(options: SmtpOptions, *, dial: Dial | None = None) -> bool | Outcome:
    """Whether the line was encrypted, where we were let in; else what that means for a message."""
    try:
        connection = await Opener(options, dial=dial).open(_Nothing())
    except SessionRefused as refused:
        return refused.outcome
    connection.begin(None)
    return connection.encrypted
