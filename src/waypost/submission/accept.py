"""Takes a submitted mail: read apart from everything else, then the same use case as a call of the API."""

from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Work
from waypost.notifications.model import Accepted
from waypost.notifications.ports import SubmitCall
from waypost.submission.model import SubmittedMail, UnreadMail
from waypost.submission.ports import MailReader
from waypost.submission.rules import command_of


class AcceptMail:
    def __init__(self, *, reader: MailReader, submit: SubmitCall, work: Work) -> None:
        self._reader = reader
        self._submit = submit
        self._work = work

    async def __call__(self, scope: Scope, mail: SubmittedMail) -> Accepted:
        """Answers once it is stored for good. One recipient that cannot be accepted refuses it for all."""
        scope.demand(Permission.NOTIFICATIONS_SEND)
        read = await self._reader.read_mail(scope.tenant_id, mail.content)
        if isinstance(read, UnreadMail):
            raise Refused(read.message, code=read.code)
        command = command_of(read, mail.recipients)
        async with self._work.begin(scope.tenant_id) as tx:
            return await self._submit(tx, scope, command)
