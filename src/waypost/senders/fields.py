"""What may be said about an account, and what is wrong with it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypedDict

from waypost.kernel.address import Address, normalise_email
from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.vocabulary import Category
from waypost.senders.connection import AccountConnection, AccountKind, AuthMode, TlsMode
from waypost.senders.model import Account, Stage

LONGEST_NAME: Final = 200
HIGHEST_LIMIT: Final = 10_000_000
LARGEST_BATCH: Final = 10_000
LONGEST_DELAY_MS: Final = 3_600_000
MOST_PROVIDERS: Final = 50
MOST_STAGES: Final = 30
LONGEST_STAGE: Final = 90
_PROVIDER: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\Z")
_REFERENCE: Final = re.compile(r"(?:env|file):", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountFields:
    kind: AccountKind
    name: str
    from_address: str
    display_name: str = ""
    categories: frozenset[Category] | None = None
    daily_limit: int | None = None
    batch_size: int = 50
    delay_ms: int = 0
    provider_limits: Mapping[str, int] = field(default_factory=dict[str, int])
    adaptive: bool = False
    warmup: tuple[Stage, ...] | None = None
    host: str = ""
    port: int = 0
    tls: TlsMode = TlsMode.REQUIRED
    auth: AuthMode = AuthMode.NONE
    username: str = ""
    subject: str = ""
    helo_name: str = ""
    max_connections: int = 10
    messages_per_connection: int = 100

    @property
    def needs_secret(self) -> bool:
        return self.kind is AccountKind.GMAIL or self.auth is not AuthMode.NONE

    def connection(self, secret: str) -> AccountConnection:
        return AccountConnection(
            kind=self.kind,
            host=self.host,
            port=self.port,
            tls=self.tls,
            auth=self.auth,
            username=self.username,
            secret=secret,
            subject=self.subject,
            helo_name=self.helo_name,
            max_connections=self.max_connections,
            messages_per_connection=self.messages_per_connection,
        )


class AccountChanges(TypedDict, total=False):
    """What is left out stays as it is. The kind never changes."""

    name: str
    from_address: str
    display_name: str
    categories: frozenset[Category] | None
    daily_limit: int | None
    batch_size: int
    delay_ms: int
    provider_limits: Mapping[str, int]
    adaptive: bool
    warmup: tuple[Stage, ...] | None
    host: str
    port: int
    tls: TlsMode
    auth: AuthMode
    username: str
    subject: str
    helo_name: str
    max_connections: int
    messages_per_connection: int


def fields_of(account: Account) -> AccountFields:
    reached = account.connection
    return AccountFields(
        kind=account.kind,
        name=account.name,
        from_address=account.from_address,
        display_name=account.display_name,
        categories=account.categories,
        daily_limit=account.daily_limit,
        batch_size=account.batch_size,
        delay_ms=account.delay_ms,
        provider_limits=account.provider_limits,
        adaptive=account.adaptive,
        warmup=None if account.warmup is None else account.warmup.schedule,
        host=reached.host,
        port=reached.port,
        tls=reached.tls,
        auth=reached.auth,
        username=reached.username,
        subject=reached.subject,
        helo_name=reached.helo_name,
        max_connections=reached.max_connections,
        messages_per_connection=reached.messages_per_connection,
    )


def goes_elsewhere(before: AccountFields, after: AccountFields) -> bool:
    """Whether a secret would be shown to somebody else, or less well guarded."""
    return (before.host.lower(), before.port, before.tls, before.auth, before.username, before.subject) != (
        after.host.lower(), after.port, after.tls, after.auth, after.username, after.subject,
    )  # fmt: skip


def is_reference(secret: str) -> bool:
    """It names a variable or a file of the installation."""
    return _REFERENCE.match(secret) is not None


def normalised_from(text: str) -> str:
    found = normalise_email(text)
    if isinstance(found, Address):
        return found.text
    fault = found.at("/from_address")
    raise Refused(fault.message, code=fault.code, errors=[fault])


def faults_of_limits(fields: AccountFields) -> Iterator[FieldError]:
    """Everything but the connection, which the vendors judge."""
    yield from _faults_of_names(fields)
    if fields.categories is not None and not fields.categories:
        yield _fault("categories", "required", "Name at least one category, or leave this out for all.")
    if fields.daily_limit is not None and not 1 <= fields.daily_limit <= HIGHEST_LIMIT:
        yield _fault("daily_limit", "out_of_range", f"From 1 to {HIGHEST_LIMIT} a day; null for no limit.")
    if not 1 <= fields.batch_size <= LARGEST_BATCH:
        yield _fault("batch_size", "out_of_range", f"From 1 to {LARGEST_BATCH} at a time.")
    if not 0 <= fields.delay_ms <= LONGEST_DELAY_MS:
        yield _fault("delay_ms", "out_of_range", f"At most {LONGEST_DELAY_MS} milliseconds, an hour.")
    yield from _faults_of_providers(fields.provider_limits)
    if fields.warmup is not None:
        yield from _faults_of_schedule(fields.warmup)


def _faults_of_names(fields: AccountFields) -> Iterator[FieldError]:
    if not 1 <= len(fields.name) <= LONGEST_NAME or not fields.name.isprintable() or fields.name.isspace():
        yield _fault("name", "invalid_name", f"A name has 1 to {LONGEST_NAME} printable characters.")
    if len(fields.display_name) > LONGEST_NAME or not fields.display_name.isprintable():
        yield _fault("display_name", "invalid_name", f"A name has at most {LONGEST_NAME} printable characters.")


def _faults_of_providers(limits: Mapping[str, int]) -> Iterator[FieldError]:
    if len(limits) > MOST_PROVIDERS:
        yield _fault("provider_limits", "too_many", f"At most {MOST_PROVIDERS} providers.")
        return
    for place, (provider, limit) in enumerate(limits.items()):
        if not _PROVIDER.match(provider):
            yield _fault("provider_limits", "invalid_provider", f"Name {place + 1} is neither a provider nor a domain.")
        elif not 1 <= limit <= HIGHEST_LIMIT:
            yield _fault(f"provider_limits/{provider}", "out_of_range", f"From 1 to {HIGHEST_LIMIT} an hour.")


def _faults_of_schedule(schedule: tuple[Stage, ...]) -> Iterator[FieldError]:
    if not 1 <= len(schedule) <= MOST_STAGES:
        yield _fault("warmup/stages", "out_of_range", f"From 1 to {MOST_STAGES} stages.")
        return
    for place, stage in enumerate(schedule):
        at = f"warmup/stages/{place}"
        if not 1 <= stage.limit <= HIGHEST_LIMIT:
            yield _fault(f"{at}/limit", "out_of_range", f"From 1 to {HIGHEST_LIMIT} a day.")
        if not 1 <= stage.batch_size <= LARGEST_BATCH:
            yield _fault(f"{at}/batch_size", "out_of_range", f"From 1 to {LARGEST_BATCH} at a time.")
        if not 0 <= stage.delay_ms <= LONGEST_DELAY_MS:
            yield _fault(f"{at}/delay_ms", "out_of_range", f"At most {LONGEST_DELAY_MS} milliseconds.")
        if not 1 <= stage.days <= LONGEST_STAGE:
            yield _fault(f"{at}/days", "out_of_range", f"From 1 to {LONGEST_STAGE} days.")


def _fault(name: str, code: str, message: str) -> FieldError:
    return FieldError(pointer=f"/{name}", code=code, message=message)
