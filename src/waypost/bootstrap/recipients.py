"""Recipients, joined to their stores, and to whoever else keeps something about people."""

from collections.abc import Sequence
from dataclasses import dataclass

from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.erasures import PgEraseStore, PgForgetMessages, PgMergeStore
from waypost.adapters.postgres.lists import PgListStore
from waypost.adapters.postgres.recipients import PgAddressStore, PgRecipientStore, PgTagStore
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.recipients.absorb import Absorb, AbsorbParts
from waypost.recipients.addresses import AddressBook
from waypost.recipients.desk import RecipientDesk
from waypost.recipients.erase import Erase
from waypost.recipients.lists import ListKeys, Lists
from waypost.recipients.lookup import Lookup
from waypost.recipients.people import People
from waypost.recipients.ports import AlsoForgets, AlsoMerges
from waypost.recipients.records import Recipients
from waypost.recipients.search import Search
from waypost.recipients.tags import Tags
from waypost.recipients.views import Views
from waypost.tenants.audit import Audit


@dataclass(frozen=True, kw_only=True, slots=True)
class JoinedRecipients:
    records: Recipients
    desk: RecipientDesk
    views: Views


def join_recipients(
    *,
    people: People,
    keyring: Keyring,
    audit: Audit,
    clock: Clock,
    delivery: PgDelivery,
    also_merge: Sequence[AlsoMerges] = (),
    also_forget: Sequence[AlsoForgets] = (),
) -> JoinedRecipients:
    """Whoever keeps something about people says here how it is merged and how it is forgotten."""
    recipients, addresses, tag_store = PgRecipientStore(), PgAddressStore(), PgTagStore()
    lookup = Lookup(recipients=recipients, keyring=keyring)
    views = Views(people=people, addresses=addresses, tags=tag_store)
    tags = Tags(recipients=recipients, tags=tag_store, lookup=lookup, audit=audit, clock=clock)
    list_keys = ListKeys(PgListStore())
    desk = RecipientDesk(
        search=Search(pages=recipients, recipients=recipients, lists=list_keys, views=views, keyring=keyring),
        addresses=AddressBook(
            people=people,
            recipients=recipients,
            addresses=addresses,
            lookup=lookup,
            views=views,
            keyring=keyring,
            audit=audit,
            clock=clock,
        ),
        tags=tags,
        lists=Lists(store=PgListStore(), recipients=recipients, audit=audit, clock=clock),
        list_keys=list_keys,
        absorb=Absorb(
            AbsorbParts(
                people=people,
                recipients=recipients,
                addresses=addresses,
                tags=tag_store,
                merges=PgMergeStore(),
                also=also_merge,
                lookup=lookup,
                views=views,
                audit=audit,
                clock=clock,
            )
        ),
        erase=Erase(
            store=PgEraseStore(),
            recipients=recipients,
            addresses=addresses,
            also=(PgForgetMessages(delivery), *also_forget),
            lookup=lookup,
            keyring=keyring,
            audit=audit,
            clock=clock,
        ),
        lookup=lookup,
    )
    records = Recipients(
        people=people, recipients=recipients, lookup=lookup, views=views, tags=tags, audit=audit, clock=clock
    )
    return JoinedRecipients(records=records, desk=desk, views=views)
