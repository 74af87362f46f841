"""The secret of an account: sealed under the tenant's key, opened only to enter its server."""

from dataclasses import replace
from uuid import UUID

from waypost.kernel.errors import refuse
from waypost.kernel.tenancy import PLATFORM, Scope
from waypost.kernel.vault import SealBroken, TenantKey, place
from waypost.senders.connection import AccountConnection
from waypost.senders.fields import is_reference
from waypost.senders.model import Account
from waypost.senders.ports import SecretReferences

_COLUMN = "sender_secret"


class SecretGone(Exception):
    """It cannot be opened any more, or what it names is not there."""


def seal(key: TenantKey, tenant_id: str, account_id: UUID, secret: str) -> bytes:
    return key.seal(secret.encode(), place(_COLUMN, tenant_id, account_id))


def check_reference(scope: Scope, secret: str) -> bool:
    """Whether it is one. What lies in the installation's variables and files is the operator's."""
    if not is_reference(secret):
        return False
    if scope.key_tenant != PLATFORM:
        message = "Give the secret itself: `env:` and `file:` are for the operator's own keys."
        raise refuse("/secret", "secret_reference_refused", message)
    return True


def opened(key: TenantKey, tenant_id: str, account: Account, references: SecretReferences) -> AccountConnection:
    """The connection with its secret. Raises `SecretGone`."""
    if account.secret is None:
        return account.connection
    try:
        secret = key.open(account.secret, place(_COLUMN, tenant_id, account.id)).decode()
        if account.secret_is_reference:
            secret = references.read(secret)
    except (SealBroken, LookupError, UnicodeDecodeError) as error:
        raise SecretGone from error
    return replace(account.connection, secret=secret)
