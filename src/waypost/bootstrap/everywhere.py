"""Platform-wide suppressions, joined to their store; apart from the rest of consent, which `waypost up` can spare."""

from waypost.adapters.postgres.platform_suppression import PgPlatformSuppressions
from waypost.kernel.vault import Keyring
from waypost.suppression.everywhere import Everywhere


def everywhere_of(keyring: Keyring) -> Everywhere:
    return Everywhere(store=PgPlatformSuppressions(), keyring=keyring)
