"""Everything that is done about recipients besides putting and reading them."""

from dataclasses import dataclass

from waypost.recipients.absorb import Absorb
from waypost.recipients.addresses import AddressBook
from waypost.recipients.erase import Erase
from waypost.recipients.lists import ListKeys, Lists
from waypost.recipients.lookup import Lookup
from waypost.recipients.search import Search
from waypost.recipients.tags import Tags


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipientDesk:
    search: Search
    addresses: AddressBook
    tags: Tags
    lists: Lists
    list_keys: ListKeys
    absorb: Absorb
    erase: Erase
    lookup: Lookup
