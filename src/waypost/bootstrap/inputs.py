"""The frozen inputs of notifications, joined to their store."""

from waypost.adapters.postgres.shared_inputs import PgSharedInputs
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.notifications.inputs import InputsBook


def inputs_of(keyring: Keyring, clock: Clock) -> InputsBook:
    return InputsBook(store=PgSharedInputs(), keyring=keyring, clock=clock)
