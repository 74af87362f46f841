"""What the filters of `speech` say, in the words of CLDR. Loaded only in render children that need it."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Final, cast

from babel import Locale
from babel.dates import format_date, format_datetime, format_time, format_timedelta
from babel.lists import format_list
from babel.numbers import NumberPattern, format_currency, format_decimal, get_currency_precision

from waypost.adapters.render.locales import Atlas
from waypost.adapters.render.moments import STYLES, local, read_clock, read_moment, read_pattern
from waypost.adapters.render.resources import Library
from waypost.adapters.render.speech import Unsuitable

_MOST_DIGITS: Final = 30
_MOST_DECIMALS: Final = 12
_LONGEST_NUMBER: Final = 60
_MICROS: Final = Decimal(1_000_000)
_MOST_LISTED: Final = 1000
_LISTS: Final = {"and": "standard", "or": "or"}

_atlases: dict[Library, Atlas] = {}


@dataclass(frozen=True, slots=True)
class _Voice:
    locale: Locale
    zone: tzinfo
    written_in: Locale
    """Decides which plural form a number takes: the forms are the author's."""


def say(
    library: Library,
    recipients: tuple[str | None, str | None],
    written_in: str | None,
    name: str,
    value: object,
    words: tuple[object, ...],
    named: dict[str, object],
) -> object:
    atlas = _atlases.get(library)
    if atlas is None:
        atlas = _atlases[library] = Atlas(library)
    if value is None:
        raise Unsuitable(f"gives `{name}` a value that is missing", is_missing=True)
    locale, zone = named.pop("locale", None), named.pop("zone", None)
    voice = _Voice(
        atlas.locale(_word(locale), recipients[0], written_in),
        atlas.zone(_word(zone) or recipients[1]),
        atlas.locale(written_in, recipients[0]),
    )
    try:
        return _SAY[name](voice, value, *words, **named)
    except TypeError:
        raise Unsuitable(f"gives `{name}` arguments that it does not take") from None


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _date(voice: _Voice, value: object, pattern: object = "medium") -> str:
    moment, pattern = read_moment(value), read_pattern(pattern)
    if pattern in STYLES and not isinstance(moment, datetime):
        return format_date(moment, pattern, locale=voice.locale)
    shown = local(moment, voice.zone)
    if pattern in STYLES:
        return format_date(shown.date(), pattern, locale=voice.locale)
    return _by_pattern(shown, pattern, voice)


def _time(voice: _Voice, value: object, pattern: object = "short") -> str:
    pattern = read_pattern(pattern)
    clock = read_clock(value)
    if clock is not None:
        shown = datetime.combine(date(2000, 1, 1), clock, voice.zone)
    else:
        shown = local(read_moment(value), voice.zone)
    if pattern in STYLES:
        return format_time(shown, pattern, tzinfo=voice.zone, locale=voice.locale)
    return _by_pattern(shown, pattern, voice)


def _datetime(voice: _Voice, value: object, pattern: object = "medium") -> str:
    return _by_pattern(local(read_moment(value), voice.zone), read_pattern(pattern), voice)


def _by_pattern(shown: datetime, pattern: str, voice: _Voice) -> str:
    try:
        return format_datetime(shown, pattern, tzinfo=voice.zone, locale=voice.locale)
    except (ValueError, KeyError, AttributeError, LookupError):
        raise Unsuitable("has a date pattern that cannot be read") from None


def _relative(voice: _Voice, value: object, since: object = None) -> str:
    if since is None:
        raise Unsuitable("uses `relative` without saying to what: a message must read the same for ever")
    distance = local(read_moment(value), voice.zone) - local(read_moment(since), voice.zone)
    return format_timedelta(distance, add_direction=True, locale=voice.locale)


def _money(voice: _Voice, value: object, currency: object = None, unit: object = None) -> str:
    if isinstance(value, dict):
        about = cast(Mapping[str, object], value)
        currency = currency or about.get("currency")
        unit = next((word for word in ("micros", "minor") if word in about), None)
        value = about.get(unit or "amount")
    if not (isinstance(currency, str) and len(currency) == 3 and currency.isascii() and currency.isalpha()):
        raise Unsuitable("uses `money` without a currency of three letters, like EUR")
    amount, currency = _number_of(value), currency.upper()
    match unit:
        case None:
            pass
        case "micros":
            amount /= _MICROS
        case "minor":
            amount = amount.scaleb(-get_currency_precision(currency))
        case _:
            raise Unsuitable("uses `money` with a unit that is neither `micros` nor `minor`")
    return format_currency(amount, currency, locale=voice.locale)


def _number(voice: _Voice, value: object, decimals: object = None) -> str:
    return _plain_number(voice.locale, _number_of(value), decimals)


def _percent(voice: _Voice, value: object, decimals: object = 0) -> str:
    return _in_pattern(voice.locale.percent_formats[cast(str, None)], _number_of(value), decimals, voice.locale)


def _plural(voice: _Voice, value: object, one: object = None, other: object = None, **forms: object) -> str:
    number = _number_of(value)
    if one is not None:
        forms["one"] = one
    if other is None and "other" not in forms:
        raise Unsuitable("uses `plural` without saying what it is `other` than one")
    chosen = forms.get(voice.written_in.plural_form(number), other)
    if not isinstance(chosen, str):
        raise Unsuitable("uses `plural` with a form that is no text")
    return chosen.replace("#", _plain_number(voice.locale, number, None))


def _listed(voice: _Voice, value: object, style: object = "and") -> str:
    if not isinstance(value, list) or style not in _LISTS or len(cast(list[object], value)) > _MOST_LISTED:
        raise Unsuitable("uses `listed` on what is no list, or with a word other than `and` or `or`")
    items = [item if isinstance(item, str) else str(item) for item in cast(list[object], value)]
    return format_list(items, style=_LISTS[cast(str, style)], locale=voice.locale)  # type: ignore[arg-type]


def _number_of(value: object) -> Decimal:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | str)
        or (isinstance(value, str) and len(value) > 60)
    ):
        raise Unsuitable("has a value that is no number")
    try:
        number = Decimal(str(value))
    except (InvalidOperation, ValueError):
        raise Unsuitable("has a value that is no number") from None
    # Few characters can stand for a number of a million digits.
    if not number.is_finite() or not -_MOST_DIGITS <= number.adjusted() <= _MOST_DIGITS:
        raise Unsuitable("has a number that is too large or too small to write")
    return number


def _plain_number(locale: Locale, number: Decimal, decimals: object) -> str:
    if decimals is None:
        return format_decimal(number, locale=locale)
    return _in_pattern(locale.decimal_formats[cast(str, None)], number, decimals, locale)


def _in_pattern(usual: NumberPattern, number: Decimal, decimals: object, locale: Locale) -> str:
    places, pattern = _places(decimals), copy(usual)
    pattern.frac_prec = (places, places)
    return pattern.apply(number, locale)


def _places(decimals: object) -> int:
    if isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= _MOST_DECIMALS:
        raise Unsuitable(f"asks for a number of decimals that is not between 0 and {_MOST_DECIMALS}")
    return decimals


_SAY: Final[dict[str, Callable[..., str]]] = {
    "date": _date,
    "time": _time,
    "datetime": _datetime,
    "relative": _relative,
    "money": _money,
    "number": _number,
    "percent": _percent,
    "plural": _plural,
    "listed": _listed,
}
