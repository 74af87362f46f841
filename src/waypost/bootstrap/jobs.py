"""Jobs, imports and exports, joined to their stores: for those who ask, and for the worker that does them."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from waypost.adapters.postgres.dead_letters import PgDeadLetters
from waypost.adapters.postgres.exports import PgExportStore
from waypost.adapters.postgres.jobs import PgFileStore, PgJobBoard, PgJobStore
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.lists import PgListStore
from waypost.adapters.postgres.preferences import PgConsents, PgTopics
from waypost.adapters.postgres.recipients import PgAddressStore, PgRecipientStore, PgTagStore
from waypost.adapters.postgres.suppression import PgSuppressions
from waypost.delivery.dead_letters import RedriveSteps
from waypost.exports.desk import Exports
from waypost.exports.steps import ExportSteps
from waypost.imports.agreements import Agreements
from waypost.imports.desk import Imports
from waypost.imports.steps import ImportSteps
from waypost.imports.take_in import TakeIn
from waypost.jobs.desk import Jobs
from waypost.jobs.model import JobKind
from waypost.jobs.run import JobRunner
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Work
from waypost.preferences.history import ConsentHistory
from waypost.recipients.lists import ListKeys
from waypost.recipients.people import People
from waypost.recipients.resolve import Resolver
from waypost.tenants.audit import Audit


def _silent() -> None:
    """Nobody is woken; the poll finds the work."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JoinedJobs:
    jobs: Jobs
    imports: Imports
    exports: Exports


def join_jobs(*, work: Work, keyring: Keyring, audit: Audit, clock: Clock) -> JoinedJobs:
    store, files, lists = PgJobStore(), PgFileStore(), ListKeys(PgListStore())
    jobs = Jobs(store=store, audit=audit, clock=clock)
    return JoinedJobs(
        jobs=jobs,
        imports=Imports(
            work=work,
            store=store,
            files=files,
            jobs=jobs,
            lists=lists,
            agreements=_agreements(keyring, clock),
            keyring=keyring,
            audit=audit,
            clock=clock,
        ),
        exports=Exports(
            work=work,
            store=store,
            files=files,
            jobs=jobs,
            lists=lists,
            keyring=keyring,
            audit=audit,
            clock=clock,
        ),
    )


def join_job_runner(
    *, line: Line, work: Work, keyring: Keyring, clock: Clock, worker_id: UUID, ring: Callable[[], None] = _silent
) -> JobRunner:
    recipients, addresses, tags = PgRecipientStore(), PgAddressStore(), PgTagStore()
    files, lists = PgFileStore(), ListKeys(PgListStore())
    people = People(recipients=recipients, addresses=addresses, keyring=keyring, clock=clock)
    take_in = TakeIn(
        resolver=Resolver(people=people, recipients=recipients, addresses=addresses, keyring=keyring, clock=clock),
        tags=tags,
        lists=PgListStore(),
        list_keys=lists,
        agreements=_agreements(keyring, clock),
        clock=clock,
    )
    exports = ExportSteps(
        store=PgExportStore(),
        suppressions=PgSuppressions(),
        files=files,
        people=people,
        tags=tags,
        lists=lists,
        keyring=keyring,
    )
    return JobRunner(
        board=PgJobBoard(line),
        store=PgJobStore(),
        files=files,
        work=work,
        kinds={
            JobKind.IMPORT: ImportSteps(files=files, keyring=keyring, take_in=take_in, clock=clock),
            JobKind.EXPORT: exports,
            JobKind.REDRIVE: RedriveSteps(store=PgDeadLetters(clock=clock, ring=ring), keyring=keyring, clock=clock),
        },
        clock=clock,
        worker_id=worker_id,
    )


def _agreements(keyring: Keyring, clock: Clock) -> Agreements:
    history = ConsentHistory(store=PgConsents(), keyring=keyring, clock=clock)
    return Agreements(topics=PgTopics(), history=history)
