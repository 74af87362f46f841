"""A rehearsal's letter to everyone: people in a list, and one dispatch batch to it, unfolded as a worker would."""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.batches import PgBatches
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.recipients import PgAddressStore, PgRecipientStore
from waypost.bootstrap.app import App
from waypost.campaigns.batches import Batches
from waypost.campaigns.expand import Expansion
from waypost.campaigns.model import Audience, BatchMessage, BatchState
from waypost.kernel.errors import Unavailable
from waypost.kernel.ids import mint, show_ulid
from waypost.kernel.tenancy import Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Work
from waypost.recipients.model import RecipientFields, Target
from waypost.recipients.people import People
from waypost.recipients.resolve import Resolver
from waypost.rehearsal.model import Letter, Person
from waypost.templates.model import Content

_AT_ONCE: Final = 500
_UNFINISHED: Final = frozenset({BatchState.SCHEDULED, BatchState.RUNNING})
Progress = Callable[[int, int], None]
"""How many of how many are known."""


class Broadcast:
    def __init__(self, app: App, keyring: Keyring) -> None:
        recipients, addresses = PgRecipientStore(), PgAddressStore()
        people = People(recipients=recipients, addresses=addresses, keyring=keyring, clock=app.clock)
        self._app = app
        self._keyring = keyring
        self._store = PgBatches(app.clock)
        self._batches = Batches(
            store=self._store,
            delivery=PgDelivery(clock=app.clock, ring=lambda: None),
            keyring=keyring,
            clock=app.clock,
        )
        self._resolver = Resolver(
            people=people, recipients=recipients, addresses=addresses, keyring=keyring, clock=app.clock
        )

    async def __call__(self, scope: Scope, people: Sequence[Person], letter: Letter, told: Progress | None) -> None:
        app, key = self._app, show_ulid(mint(self._app.clock)).lower()
        async with app.work.begin(scope.tenant_id) as tx:
            audience = await app.people.lists.put(tx, scope, key, "Everyone")
        for first in range(0, len(people), _AT_ONCE):
            some = people[first : first + _AT_ONCE]
            async with app.work.begin(scope.tenant_id) as tx:
                known = await self._resolver.resolve(tx, [_target(person) for person in some], Channel.EMAIL)
                names = [one.external_id for one in known]
                await app.people.lists.change_members(tx, scope, key, add=names, remove=())
            if told is not None:
                told(first + len(some), len(people))
        async with app.work.begin(scope.tenant_id) as tx:
            batch = await self._batches.create(tx, scope, Audience(list_id=audience.id), _message(letter))
            await self._batches.schedule(tx, scope, batch.id)
        await self._unfold(scope.tenant_id, batch.id)

    async def _unfold(self, tenant_id: str, batch_id: UUID) -> None:
        app = self._app
        board = _Board(app.work, self._store, tenant_id, batch_id)
        expansion = Expansion(
            work=app.work,
            board=board,
            store=self._store,
            batches=self._batches,
            submit=app.notifications.submit,
            fan_out=app.notifications.fan_out,
            keyring=self._keyring,
            clock=app.clock,
        )
        await expansion.work_off()
        if await board.due(1):
            raise Unavailable("The broadcast could not be unfolded.")


class _Board:
    """Knows one batch. Implements `campaigns.ports.BatchBoard`."""

    def __init__(self, work: Work, store: PgBatches, tenant_id: str, batch_id: UUID) -> None:
        self._work = work
        self._store = store
        self._tenant_id = tenant_id
        self._batch_id = batch_id

    async def due(self, at_most: int) -> Sequence[tuple[str, UUID]]:
        async with self._work.begin(self._tenant_id) as tx:
            batch = await self._store.find(tx, self._batch_id)
        unfinished = batch is not None and batch.state in _UNFINISHED
        return [(self._tenant_id, self._batch_id)][:at_most] if unfinished else []


def _target(person: Person) -> Target:
    return Target(fields=RecipientFields(email=person.address, locale=person.locale, timezone=person.timezone))


def _message(letter: Letter) -> BatchMessage:
    """Words of a template that was rendered already are no template any more."""
    return BatchMessage(
        content=Content(
            subject="{{ letter_subject }}",
            html=None if letter.html is None else "{{ letter_html|safe }}",
            text=None if letter.text is None else "{{ letter_text }}",
        ),
        variables={
            "letter_subject": letter.subject,
            **({} if letter.html is None else {"letter_html": letter.html}),
            **({} if letter.text is None else {"letter_text": letter.text}),
        },
        category=(Category.MARKETING if letter.is_marketing else Category.TRANSACTIONAL).word,
    )
