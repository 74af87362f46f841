"""Opens and clicks on a real API process, each in the database before its answer, against its constant answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from benchmarks.entries.submit import until_ready
from benchmarks.http_load import callers, flat_out
from benchmarks.installation import TENANT, Installation, installed, moment_after
from benchmarks.processes import cpu_of_tree
from benchmarks.results import Entry, Findings, Spread, Step, compared
from benchmarks.sinks import free_port
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.kernel.tokens import Purpose, Stamp
from waypost.tracking.link_token import link_key_of, write_link

_AT_ONCE = 48
_URL = "https://shop.example.com/articles/spring-sale?utm_source=mail&utm_campaign=spring"
_AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@dataclass(frozen=True, slots=True)
class _Marks:
    opens: Sequence[str]
    clicks: Sequence[str]


async def measure(*, quick: bool) -> Findings:
    messages, rounds, count = (10, 1, 200) if quick else (1_000, 5, 10_000)
    port = free_port()
    async with installed() as house:
        await house.accept(0, messages, send_at=moment_after(86_400))
        await house.come_to_rest()
        marks = await _marks(house)
        with house.process("waypost.api", port=port, metrics_port=free_port(), live_port=free_port()) as api:
            await until_ready(port)
            bench = _Bench(house, port, api.pid)
            await bench.rate(marks.opens[:1], 50, 200)
            constants, opens, clicks, costs = list[float](), list[float](), list[float](), list[float]()
            for _ in range(rounds):
                constants.append(await bench.rate(["/t/o/none.gif"], count, 200))
                before = bench.cpu()
                opens.append(await bench.rate(marks.opens, count, 200))
                costs.append((bench.cpu() - before) / count * 1e6)
                clicks.append(await bench.rate(marks.clicks, count, 302))
            kept = await house.admin.fetchval("select count(*) from waypost.tracking_events")
    bounded = min(rounds * count, messages * 100) + min(rounds * count, messages * 800)
    assert kept >= bounded, f"{kept} events of {bounded}"
    steps = {"one open, CPU of API and PostgreSQL": [Step("answered and kept", Spread.of(costs).middle)]}
    return Findings([_entry("open pixel", opens, constants), _entry("click", clicks, constants)], steps)


def _entry(what: str, ours: list[float], constants: list[float]) -> Entry:
    return compared(
        name=f"tracking, {what}",
        what=f"{what}, {_AT_ONCE} callers, one API process",
        unit="requests/s",
        ours=ours,
        reference="the same server answering the same picture to a token that is none",
        theirs=constants,
        goal="≥ 0.5",
        at_least=0.5,
    )


async def _marks(house: Installation) -> _Marks:
    keyring = PgKeyring(LocalVault(open_master_key(house.settings.master_key_path, create=False)))
    async with house.app.work.begin(TENANT) as tx:
        key = await keyring.of(tx)
    rows = await house.admin.fetch("select id, version_id from waypost.notifications order by id")
    mark = Stamp(Purpose.MESSAGE, TENANT, key)
    version: UUID = rows[0]["version_id"]
    links = [
        write_link(link_key_of(key, version), version.bytes, number, _URL, is_personal=False) for number in range(1, 9)
    ]
    return _Marks(
        [f"/t/o/{mark(row['id'].bytes)}.gif" for row in rows],
        [f"/t/c/{mark(row['id'].bytes)}.{link}" for link in links for row in rows],
    )


class _Bench:
    def __init__(self, house: Installation, port: int, pid: int) -> None:
        self._house, self._port, self._pid = house, port, pid

    async def rate(self, paths: Sequence[str], count: int, expect: int) -> float:
        async with callers(self._port, _AT_ONCE) as busy:
            return await flat_out(busy, self._requests(paths), count=count, expect=expect)

    def _requests(self, paths: Sequence[str]) -> Callable[[int], bytes]:
        tail = f" HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nUser-Agent: {_AGENT}\r\nAccept: */*\r\n\r\n"
        spelled = [f"GET {path}{tail}".encode() for path in paths]
        return lambda number: spelled[number % len(spelled)]

    def cpu(self) -> float:
        return cpu_of_tree(self._pid) + self._house.database_cpu()
