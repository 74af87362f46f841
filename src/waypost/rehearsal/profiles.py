"""Profiles that come along, and how others are read from TOML."""

from collections.abc import Mapping
from typing import Final

import msgspec

from waypost.kernel.errors import Misconfigured
from waypost.rehearsal.model import ANY_DOMAIN, Person, Profile, Provider

_BIG: Final = Provider(name="bigmail", domains=("gmail.com", "googlemail.com", "bigmail.example"), share=0.5)
_OFFICE: Final = Provider(
    name="office", domains=("outlook.com", "hotmail.com", "live.com", "office.example"), share=0.3
)
_OTHERS: Final = Provider(name="others", domains=(ANY_DOMAIN, "others.example"), share=0.2)

_CALM: Final = Profile(name="calm", providers=(_BIG, _OFFICE, _OTHERS))
_USUAL: Final = Profile(
    name="usual",
    providers=(
        msgspec.structs.replace(_BIG, unknown=0.004, returned=0.002, complaints=0.0005, full=0.003),
        msgspec.structs.replace(_OFFICE, unknown=0.006, returned=0.004, complaints=0.001, hourly_limit=10_000),
        msgspec.structs.replace(_OTHERS, greylisted=0.11, unknown=0.01, full=0.01, returned=0.005, latency=0.6),
    ),
)
_STORMY: Final = Profile(
    name="stormy",
    providers=(
        msgspec.structs.replace(_BIG, unknown=0.02, complaints=0.003, hourly_limit=1_000, full=0.01),
        msgspec.structs.replace(
            _OFFICE, storm_every=900.0, storm_seconds=300.0, blocked=0.05, unknown=0.03, returned=0.01
        ),
        msgspec.structs.replace(_OTHERS, greylisted=0.5, greylist_seconds=600.0, full=0.03, unknown=0.05, latency=2.0),
    ),
)
_GREYLIST: Final = Profile(
    name="greylist",
    providers=(Provider(name="everybody", domains=(ANY_DOMAIN, "everybody.example"), greylisted=0.11),),
)
PROFILES: Final[Mapping[str, Profile]] = {one.name: one for one in (_CALM, _USUAL, _STORMY, _GREYLIST)}


def read_profile(name: str, content: Mapping[str, object]) -> Profile:
    """Of a TOML file with a table `[[providers]]` for each."""
    try:
        profile = msgspec.convert({"name": name, **content}, Profile)
    except msgspec.ValidationError as fault:
        raise Misconfigured(f"The profile {name} cannot be used: {fault}.") from None
    shares = ("share", "greylisted", "blocked", "full", "unknown", "returned", "complaints")
    for provider in profile.providers:
        if any(not 0 <= getattr(provider, one) <= 1 for one in shares):
            raise Misconfigured(f"The profile {name} cannot be used: shares of {provider.name} are from 0 to 1.")
        if provider.connections < 1 or provider.latency < 0 or not provider.domains:
            raise Misconfigured(f"The profile {name} cannot be used: {provider.name} can take no mail.")
    if not profile.providers:
        raise Misconfigured(f"The profile {name} cannot be used: it names no provider.")
    return profile


def made_up(profile: Profile, number: int) -> list[Person]:
    """So many people, spread over the providers by their shares."""
    total = sum(provider.share for provider in profile.providers) or 1.0
    people: list[Person] = []
    begun = 0.0
    for provider in profile.providers:
        domain = next((one for one in provider.domains if one != ANY_DOMAIN), "elsewhere.example")
        first, begun = round(begun / total * number), begun + provider.share
        people += [Person(address=f"p{place}@{domain}") for place in range(first, round(begun / total * number))]
    return people
