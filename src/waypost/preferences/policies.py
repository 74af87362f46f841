"""What a tenant decides for all its recipients."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from zoneinfo import available_timezones

from msgspec import UNSET, UnsetType

from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.locale_tag import spell_locale
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.tracking import Tracking
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.preferences.model import USUAL, ConsentPolicy, Policy, UnsubscribeGet
from waypost.preferences.ports import PolicyStore
from waypost.preferences.rules import read_quiet_hours
from waypost.tenants.audit import Audit


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyWish:
    """UNSET keeps what is there, None goes back to what is usual."""

    consent_policy: ConsentPolicy | UnsetType | None = UNSET
    unsubscribe_get: UnsubscribeGet | UnsetType | None = UNSET
    opt_out_stops_reminders: bool | UnsetType | None = UNSET
    quiet_hours: tuple[str, str] | UnsetType | None = UNSET
    timezone: str | UnsetType | None = UNSET
    default_locale: str | UnsetType | None = UNSET
    channels: Mapping[Channel, bool] | UnsetType | None = UNSET
    tracking: Tracking | UnsetType | None = UNSET


class Policies:
    def __init__(self, *, store: PolicyStore, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._audit = audit
        self._clock = clock

    async def get(self, tx: Transaction, scope: Scope) -> Policy:
        scope.demand(Permission.SETTINGS_READ)
        return await self._store.policy(tx)

    async def change(self, tx: Transaction, scope: Scope, wish: PolicyWish) -> Policy:
        """What is queued already asks the gate again; with quiet hours for all, so does everything from now on."""
        scope.demand(Permission.SETTINGS_WRITE)
        standing = await self._store.policy_for_change(tx)
        changed = _merged(standing, wish)
        if changed != standing:
            await self._store.put_policy(tx, changed, self._clock.now())
            await self._store.watch_everyone(tx, always=changed.quiet_hours is not None)
            detail = {"consent_policy": changed.consent_policy.value}
            await self._audit.record(tx, scope, "settings.changed", tx.tenant_id, dict(detail))
        return changed


def _merged(standing: Policy, wish: PolicyWish) -> Policy:
    errors: list[FieldError] = []
    quiet = standing.quiet_hours
    if wish.quiet_hours is None:
        quiet = None
    elif not isinstance(wish.quiet_hours, UnsetType):
        quiet, errors = read_quiet_hours(*wish.quiet_hours, "/quiet_hours")
    if isinstance(wish.timezone, str) and wish.timezone not in _timezones():
        message = "Write a time zone of the IANA database such as `Europe/Vienna`."
        errors.append(FieldError(pointer="/timezone", code="invalid_timezone", message=message))
    locale = spell_locale(wish.default_locale) if isinstance(wish.default_locale, str) else wish.default_locale
    if isinstance(wish.default_locale, str) and locale is None:
        message = "Write a language tag such as `en`, `de-AT` or `zh-Hant-TW`."
        errors.append(FieldError(pointer="/default_locale", code="invalid_locale", message=message))
    if errors:
        raise Refused(errors[0].message, code=errors[0].code, errors=errors)
    said = {
        name: getattr(USUAL, name) if (value := getattr(wish, name)) is None else value
        for name in ("consent_policy", "unsubscribe_get", "opt_out_stops_reminders", "timezone", "channels", "tracking")
        if not isinstance(getattr(wish, name), UnsetType)
    }
    default_locale = standing.default_locale if isinstance(locale, UnsetType) else locale
    return replace(standing, quiet_hours=quiet, default_locale=default_locale, **said)


@cache
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones())
