"""What sender accounts ask of others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol
from uuid import UUID

from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.work import Transaction
from waypost.senders.capacity import Handout
from waypost.senders.model import Account, AccountState, AccountStatus, Day, Pace, Standing, StatusReason


class AccountStore(Protocol):
    """Inside one tenant's transaction."""

    async def add(self, tx: Transaction, account: Account) -> bool:
        """False where an account has this name already."""
        ...

    async def change(self, tx: Transaction, account: Account) -> bool:
        """Everything but what a status is changed by. False where another account has this name."""
        ...

    async def set_status(
        self, tx: Transaction, account_id: UUID, status: AccountStatus, reason: StatusReason | None, at: datetime
    ) -> bool:
        """A new version of the account. False where it had this status before, or is archived."""
        ...

    async def count(self, tx: Transaction) -> int:
        """Those that are not archived, counted while nobody else adds one."""
        ...

    async def find(self, tx: Transaction, account_id: UUID, *, for_change: bool = False) -> Account | None: ...

    async def page(self, tx: Transaction, before: UUID | None, limit: int, *, archived: bool) -> Sequence[Account]:
        """Newest first."""
        ...

    async def live(self, tx: Transaction) -> Sequence[Account]:
        """All that are not archived."""
        ...

    async def standings(self, tx: Transaction, accounts: Sequence[Account], now: datetime) -> Sequence[Standing]:
        """With all paces, to be shown."""
        ...

    async def days(self, tx: Transaction, account_id: UUID, since: date) -> Sequence[Day]:
        """Oldest first; days on which nothing was sent are not there."""
        ...

    async def start_afresh(self, tx: Transaction, account_id: UUID) -> None:
        """Errors in a row are forgotten, and the next batch may come at once."""
        ...

    async def forget_paces(self, tx: Transaction, account_id: UUID) -> None: ...


class WaitingMail(Protocol):
    """Messages that were told to come again because no account would take them."""

    async def call_up(self, tx: Transaction, account_id: UUID) -> None:
        """They are due when this commits: the first at once, workers see to the rest. So is what could not leave by
        this account because its server was not there or did not let it in."""
        ...


class CapacityStore(Protocol):
    """What workers do, inside one tenant's transaction."""

    async def hold(self, tx: Transaction, account_ids: Sequence[UUID], today: date) -> None:
        """Begins the day where it has not begun. Until the transaction ends nobody else counts for these accounts."""
        ...

    async def held_standings(
        self, tx: Transaction, account_ids: Sequence[UUID], today: date, providers: Sequence[str]
    ) -> Sequence[Standing]:
        """As they stand now; paces of these providers only. Archived accounts are left out."""
        ...

    async def reserve(
        self, tx: Transaction, batch_id: UUID, today: date, handouts: Sequence[Handout], now: datetime
    ) -> None:
        """Counts what goes, notes what is planned, and whose batch has it. Raises where a limit would be passed."""
        ...

    async def save_state(self, tx: Transaction, account_id: UUID, state: AccountState) -> None: ...

    async def save_paces(self, tx: Transaction, account_id: UUID, paces: Sequence[Pace], now: datetime) -> None: ...


@dataclass(frozen=True, slots=True)
class Changed:
    tenant_id: str
    at: datetime
    """The last change."""
    lately: bool
    """Another that began before it may still be on its way."""


class SenderBoard(Protocol):
    """Looks across tenants."""

    async def changed_since(self, moment: datetime | None) -> Sequence[Changed]:
        """Tenants whose accounts have changed since; None: all that have any."""
        ...


class AccountNews(Protocol):
    """For those who must be told. In the transaction of the change."""

    async def stopped(
        self, tx: Transaction, account_id: UUID, status: AccountStatus, facts: Mapping[str, JsonValue]
    ) -> None: ...

    async def running(self, tx: Transaction, account_id: UUID) -> None: ...


class SenderNames(Protocol):
    """Whom a tenant may speak as."""

    async def check(self, tx: Transaction, address: str, pointer: str) -> None:
        """Raises `Refused` where the tenant has not proved the domain of the address."""
        ...


class SecretReferences(Protocol):
    """Secrets that the operator keeps outside: variables and files of the installation."""

    def read(self, reference: str) -> str:
        """Raises `LookupError` where there is none."""
        ...
