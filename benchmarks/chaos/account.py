"""What became of everything that was accepted, counted against what the mail server took."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from benchmarks.chaos.caller import ENDS, Caller
from benchmarks.chaos.stage import Stage

_IN_DOUBT, _ACCEPTED = 5, 1
_MARKETING = 5
_ENDING_NEWS = [1, 3, 4, 5, 6, 7]


@dataclass(kw_only=True)
class Account:
    accepted: int
    states: Counter[str]
    lost: int
    """Accepted, and without an end; or said to be sent, and never seen by the mail server."""
    doubled: Counter[str] = field(default_factory=Counter[str])
    """Copies too many, by category."""
    in_doubt: Counter[str] = field(default_factory=Counter[str])
    """Attempts of which nobody knew, for a while or for ever, whether they had arrived, by category."""
    doubt_by_worker: Counter[UUID]
    """Of these, what each lost worker left."""
    renamed: int
    """People who saw one message under two Message-IDs."""
    news: int
    """Ends about which the outbox has not exactly one row."""

    def broken(self, killed: Iterable[UUID], most_per_kill: int) -> list[str]:
        """The promises that did not hold."""
        worst = max((self.doubt_by_worker[one] for one in killed), default=0)
        promises = {
            f"lost is {self.lost}, not 0": self.lost == 0,
            f"marketing doubled is {self.doubled['marketing']}, not 0": self.doubled["marketing"] == 0,
            "transactional doubled is more than in doubt": (
                self.doubled["transactional"] <= self.in_doubt["transactional"]
            ),
            f"a killed worker left {worst} in doubt, more than {most_per_kill}": worst <= most_per_kill,
            f"{self.renamed} messages came under two names": self.renamed == 0,
            f"{self.news} ends are not told exactly once": self.news == 0,
        }
        return [promise for promise, held in promises.items() if not held]


def take_account(stage: Stage, sent: Mapping[str, "Sent"], callers: Sequence[Caller]) -> Account:
    """`sent`: by address, one message to each."""
    known = {name: one["status"] for caller in callers for name, one in caller.all().items()}
    copies, names = stage.sink.copies(), stage.sink.names()
    states = Counter(known.get(one.notification, "missing") for one in sent.values())
    phantoms = [to for to, one in sent.items() if known.get(one.notification) == "dispatched" and not copies[to]]
    doubled: Counter[str] = Counter()
    for to, one in sent.items():
        doubled[one.category] += max(0, copies[to] - 1)
    in_doubt: Counter[str] = Counter()
    by_worker: Counter[UUID] = Counter()
    for caller in callers:
        attempts = stage.attempts(caller)
        last = {one["notification_id"]: one["n"] for one in attempts}
        for one in attempts:
            # A worker that came back has put the truth on an attempt that others had already repeated.
            overtaken = one["outcome"] == _ACCEPTED and one["n"] < last[one["notification_id"]]
            if one["outcome"] == _IN_DOUBT or overtaken:
                in_doubt["marketing" if one["category"] == _MARKETING else "transactional"] += 1
                by_worker[one["worker_id"]] += one["reason"] == "worker_lost" or overtaken
    return Account(
        accepted=len(sent),
        states=states,
        lost=sum(many for state, many in states.items() if state not in ENDS) + len(phantoms),
        doubled=doubled,
        in_doubt=in_doubt,
        doubt_by_worker=by_worker,
        renamed=sum(len(names[to]) > 1 for to in sent if to in names),
        news=_untold(stage, callers),
    )


def _untold(stage: Stage, callers: Sequence[Caller]) -> int:
    """Ends without their one piece of news. What was unconfirmed and then heard of after all has two."""
    return stage.count(
        "select count(*) from (select m.id from waypost.notifications m"
        " left join waypost.outbox o on o.tenant_id = m.tenant_id and o.subject_id = m.id and o.kind = any ($2)"
        " where m.tenant_id = any ($1) group by m.id"
        " having count(o.id) - count(o.id) filter (where o.kind = 7 and m.id in ("
        "   select p.subject_id from waypost.outbox p where p.tenant_id = any ($1) and p.kind = 1)) <> 1) untold",
        [caller.tenant_id for caller in callers],
        _ENDING_NEWS,
    )


@dataclass(frozen=True, slots=True)
class Sent:
    notification: str
    category: str
