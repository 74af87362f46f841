"""The providers at work: each address is answered as its provider would at that moment, and everything is counted."""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from waypost.kernel.clock import Clock
from waypost.rehearsal.fate import Fate, fate_of
from waypost.rehearsal.model import Profile, Provider, ProviderReport, Return, ReturnKind, Verdict

_DEFERRED: Final = frozenset({Verdict.GREYLISTED, Verdict.LIMITED, Verdict.STORM, Verdict.FULL})
_NOWHERE: Final = Provider(name="nowhere", domains=(), unknown=1.0)


class World:
    def __init__(self, profile: Profile, seed: int, clock: Clock) -> None:
        self.profile = profile
        self.seed = seed
        self._clock = clock
        self.began = clock.now()
        self._first_seen: dict[str, datetime] = {}
        self._hours: Counter[tuple[str, int]] = Counter()
        self._taken: defaultdict[str, list[datetime]] = defaultdict(list)
        self._answers: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)
        self._people: defaultdict[str, set[str]] = defaultdict(set)
        self._came_back: defaultdict[str, Counter[ReturnKind]] = defaultdict(Counter)
        self._returns: list[Return] = []
        self._at_hand: Counter[str] = Counter()

    def judge(self, address: str) -> Verdict:
        """What the provider says to RCPT TO."""
        provider = self._provider(address)
        verdict = self._judge(provider, address, fate_of(self.seed, provider, address))
        self._answers[provider.name][verdict] += 1
        self._people[provider.name].add(address.lower())
        self._at_hand[provider.name] += 1
        return verdict

    def take(self, address: str) -> None:
        """The message has been taken whole."""
        provider, now = self._provider(address), self._clock.now()
        fate = fate_of(self.seed, provider, address)
        self._taken[provider.name].append(now)
        self._hours[provider.name, self._hour(now)] += 1
        if fate.returned:
            self._come_back(address, ReturnKind.UNDELIVERABLE, provider.return_seconds)
        elif fate.complains:
            self._come_back(address, ReturnKind.COMPLAINT, provider.complaint_seconds)

    @property
    def next_return(self) -> datetime | None:
        return self._returns[0].at if self._returns else None

    def returned(self) -> Sequence[Return]:
        """What has come back by now."""
        now, back = self._clock.now(), list[Return]()
        while self._returns and self._returns[0].at <= now:
            one = heapq.heappop(self._returns)
            self._came_back[self._provider(one.address).name][one.kind] += 1
            back.append(one)
        return back

    def spent(self) -> float:
        """How long the talks since the last time took: providers side by side, each with its own lines."""
        longest = 0.0
        for provider in (*self.profile.providers, _NOWHERE):
            if number := self._at_hand[provider.name]:
                longest = max(longest, math.ceil(number / provider.connections) * provider.latency)
        self._at_hand.clear()
        return longest

    @property
    def finished(self) -> datetime | None:
        """When the last message was taken."""
        return max((moments[-1] for moments in self._taken.values() if moments), default=None)

    def reports(self) -> tuple[ProviderReport, ...]:
        met = [one for one in (*self.profile.providers, _NOWHERE) if self._answers[one.name]]
        return tuple(self._report(provider) for provider in met)

    def _judge(self, provider: Provider, address: str, fate: Fate) -> Verdict:
        now = self._clock.now()
        since = self._first_seen.setdefault(address.lower(), now)
        if self._storms(provider, now):
            return Verdict.STORM
        if fate.unknown:
            return Verdict.UNKNOWN
        if fate.blocked:
            return Verdict.BLOCKED
        if fate.greylisted and now - since < timedelta(seconds=provider.greylist_seconds):
            return Verdict.GREYLISTED
        if fate.full and now - self.began < timedelta(seconds=provider.full_seconds):
            return Verdict.FULL
        limit = provider.hourly_limit
        if limit is not None and self._hours[provider.name, self._hour(now)] >= limit:
            return Verdict.LIMITED
        return Verdict.TAKEN

    def _storms(self, provider: Provider, now: datetime) -> bool:
        if not provider.storm_every:
            return False
        return (now - self.began).total_seconds() % provider.storm_every < provider.storm_seconds

    def _hour(self, now: datetime) -> int:
        return int((now - self.began).total_seconds() // 3600)

    def _provider(self, address: str) -> Provider:
        return self.profile.of(address) or _NOWHERE

    def _come_back(self, address: str, kind: ReturnKind, seconds: float) -> None:
        heapq.heappush(
            self._returns, Return(at=self._clock.now() + timedelta(seconds=seconds), address=address, kind=kind)
        )

    def _report(self, provider: Provider) -> ProviderReport:
        answers, taken = self._answers[provider.name], self._taken[provider.name]
        hours = (taken[-1] - taken[0]).total_seconds() / 3600 if taken else 0.0
        minutes = Counter(int((moment - self.began).total_seconds() // 60) for moment in taken)
        back = self._came_back[provider.name]
        return ProviderReport(
            provider=provider.name,
            recipients=len(self._people[provider.name]),
            taken=len(taken),
            deferred=sum(answers[one] for one in _DEFERRED),
            refused=answers[Verdict.UNKNOWN] + answers[Verdict.BLOCKED],
            undeliverable=back[ReturnKind.UNDELIVERABLE],
            complaints=back[ReturnKind.COMPLAINT],
            per_hour=round(len(taken) / max(hours, 1 / 60)),
            busiest_minute=max(minutes.values(), default=0),
        )
