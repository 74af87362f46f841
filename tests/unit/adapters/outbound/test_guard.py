"""17, the guard itself: whatever a tenant names, nothing that is not plainly public is ever dialled."""

import asyncio
import gzip
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web_peer import Asked, Reply, web_peer

from waypost.adapters.outbound.guard import Guard, OutboundRefused, Refusal
from waypost.adapters.outbound.http import MOST_ANSWERED, GuardedHttp
from waypost.adapters.outbound.judgement import Judgement, is_public
from waypost.adapters.outbound.urls import WebhookUrls
from waypost.kernel.clock import SystemClock
from waypost.outbox.ports import UrlFault
from waypost.outbox.webhook_model import CallFault

PRIVATE = [
    "127.0.0.1", "127.9.9.9", "0.1.2.3", "10.1.2.3", "100.64.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
    "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1",
    "::8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1",
    "2002:7f00:1::", "2002:808:808::", "3fff::1", "5f00::1", "fc00::1", "fd12::1", "fe80::1", "fe80::1%1", "fec0::1",
    "ff02::1", "2606:4700::1%eth0",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.215.14", "172.32.0.1", "2606:4700::1", "2a00:1450:4001::1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_plainly_public_is_refused(address: str) -> None:
    assert not Judgement().allows(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert Judgement().allows(address)


@given(st.ip_addresses())
def test_nothing_public_is_anything_that_python_calls_special(address: Any) -> None:
    if is_public(address):
        special = ("is_private", "is_loopback", "is_link_local", "is_multicast", "is_reserved", "is_unspecified")
        assert not any(getattr(address, name) for name in special)
        assert getattr(address, "ipv4_mapped", None) is None
        assert getattr(address, "sixtofour", None) is None
        assert getattr(address, "teredo", None) is None


def test_the_operator_s_networks_are_theirs_alone() -> None:
    judgement = Judgement(["127.0.0.0/8", "10.1.0.0/16"])
    assert judgement.allows("127.0.0.1")
    assert judgement.allows("10.1.255.1")
    assert not judgement.allows("10.2.0.1")
    assert not judgement.allows("::ffff:127.0.0.1")
    assert not judgement.allows("::1")
    assert judgement.lists("127.0.0.1")
    assert not judgement.lists("8.8.8.8")
    assert not judgement.allows("no address")


def names(**known: Sequence[str]) -> Any:
    async def resolve(host: str, port: int) -> Sequence[str]:
        if host not in known:
            raise socket.gaierror
        return known[host]

    return resolve


async def test_one_bad_address_among_good_ones_is_enough() -> None:
    guard = Guard(Judgement(), names(both=["8.8.8.8", "127.0.0.1"], good=["8.8.8.8", "1.1.1.1"], none=[]))
    with pytest.raises(OutboundRefused) as refused:
        await guard.addresses("both", 443)
    assert refused.value.refusal is Refusal.PRIVATE
    assert await guard.addresses("good", 443) == ["8.8.8.8", "1.1.1.1"]
    for unknown in ("none", "nobody", "", "a b", "x" * 300, "ü.example"):
        with pytest.raises(OutboundRefused) as refused:
            await guard.addresses(unknown, 443)
        assert refused.value.refusal is Refusal.UNRESOLVABLE


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "localhost", "[::1]", "[::ffff:127.0.0.1]",
     "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254", "LOCALHOST.", "127.0.0.1."],
)  # fmt: skip
async def test_no_spelling_of_a_private_place_is_called(host: str) -> None:
    """The system's own resolver, which reads 127.1 and 0x7f000001 too, and a listener that would notice."""
    async with web_peer() as peer:
        caller = GuardedHttp(Guard(Judgement()), SystemClock())
        answer = await caller.post(f"http://{host}:{peer.port}/x", {}, b"{}")
        await caller.close()
        assert answer.status is None
        assert answer.fault in (CallFault.PRIVATE_ADDRESS, CallFault.UNRESOLVABLE)
        assert answer.body == b""
        assert peer.connections == 0
        with pytest.raises(UrlFault):
            await WebhookUrls(Guard(Judgement()), plain_http=True).check(f"http://{host}:{peer.port}/x")
        with pytest.raises(OutboundRefused):
            await Guard(Judgement()).connect(host, peer.port)


async def test_a_name_that_answers_differently_the_second_time_leads_nowhere() -> None:
    """Rebinding: public while it is configured, loopback when it is called."""
    answers = [["8.8.8.8"], ["127.0.0.1"]]

    async def rebind(host: str, port: int) -> Sequence[str]:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async with web_peer() as peer:
        guard = Guard(Judgement(), rebind)
        await WebhookUrls(guard, plain_http=True).check(f"http://rebind.example:{peer.port}/")
        caller = GuardedHttp(guard, SystemClock())
        answer = await caller.post(f"http://rebind.example:{peer.port}/", {}, b"{}")
        await caller.close()
        assert answer.fault is CallFault.PRIVATE_ADDRESS
        assert peer.connections == 0


async def test_it_dials_the_address_that_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second look-up between the judgement and the connection; proxies of the environment are not asked."""
    async with web_peer() as peer, web_peer() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        guard = Guard(Judgement(["127.0.0.0/8"]), names(**{"hooks.example": ["127.0.0.1"]}))
        caller = GuardedHttp(guard, SystemClock())
        answer = await caller.post(f"http://hooks.example:{peer.port}/x", {"A": "b"}, b"{}")
        await caller.close()
        assert (answer.status, answer.body) == (200, b"thank you")
        assert peer.asked[0].headers["host"] == f"hooks.example:{peer.port}"
        assert proxy.connections == 0


async def test_answers_are_cut_and_never_unpacked() -> None:
    bomb = gzip.compress(b"0" * 20_000_000)

    async def behave(asked: Asked) -> Reply:
        if asked.path == "/zipped":
            return Reply(200, bomb, {"Content-Encoding": "gzip"})
        return Reply(200, b"x" * 5_000_000)

    async with web_peer() as peer:
        peer.behave = behave
        caller = GuardedHttp(Guard(Judgement(["127.0.0.0/8"])), SystemClock())
        long = await caller.post(f"{peer.url}/long", {}, b"{}")
        zipped = await caller.post(f"{peer.url}/zipped", {}, b"{}")
        await caller.close()
    assert len(long.body) == MOST_ANSWERED
    assert zipped.body == bomb[:MOST_ANSWERED]
    assert "gzip" not in peer.asked[0].headers.get("accept-encoding", "")


async def test_a_peer_that_is_no_web_server_says_nothing_to_us() -> None:
    async def banner(asked: Asked) -> bytes:
        return b"-ERR unknown command, user hush\r\n\r\n"

    async with web_peer() as peer:
        peer.behave = banner
        caller = GuardedHttp(Guard(Judgement(["127.0.0.0/8"])), SystemClock())
        answer = await caller.post(peer.url, {}, b"{}")
        await caller.close()
    assert (answer.status, answer.fault, answer.body) == (None, CallFault.BROKEN, b"")


async def test_endless_headers_slow_bodies_and_silence_end() -> None:
    async def endless(asked: Asked) -> bytes | None:
        if asked.path == "/headers":
            return b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"y" * 1_000_000
        if asked.path == "/promise":
            return b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nonly this"
        return None

    async with web_peer() as peer:
        peer.behave = endless
        caller = GuardedHttp(Guard(Judgement(["127.0.0.0/8"])), SystemClock(), timeout=0.5)
        faults = [(await caller.post(f"{peer.url}{path}", {}, b"{}")).fault for path in ("/headers", "/promise", "/")]
        await caller.close()
    assert faults[0] in (CallFault.BROKEN, CallFault.TIMEOUT)
    assert faults[1:] == [CallFault.TIMEOUT, CallFault.TIMEOUT]


async def test_nothing_listening_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        caller = GuardedHttp(Guard(Judgement(["127.0.0.0/8"])), SystemClock())
        answer = await caller.post(f"http://127.0.0.1:{taken.getsockname()[1]}/", {}, b"{}")
        await caller.close()
    assert answer.fault is CallFault.UNREACHABLE


async def test_tls_is_verified_against_the_name(tmp_path: Any) -> None:
    """An https URL to a server that has no certificate for it."""
    async with web_peer() as peer:
        caller = GuardedHttp(Guard(Judgement(["127.0.0.0/8"])), SystemClock(), timeout=5)
        answer = await caller.post(f"https://127.0.0.1:{peer.port}/", {}, b"{}")
        await caller.close()
    assert answer.status is None
    assert answer.fault in (CallFault.TLS, CallFault.BROKEN, CallFault.TIMEOUT)
    assert peer.asked == []


PUBLIC_NAMES = names(**{"hooks.example": ["8.8.8.8"], "inside.example": ["10.0.0.1"]})


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://hooks.example/x", None),
        ("https://hooks.example:8443/x?token=1", None),
        ("http://hooks.example/x", "url_not_https"),
        ("https://inside.example/x", "url_private"),
        ("https://nobody.example/x", "url_unresolvable"),
        ("https://user:word@hooks.example/", "url_credentials"),
        ("https://@hooks.example/", "url_credentials"),
        ("https://hooks.example:25/", "url_port"),
        ("https://hooks.example:22/", "url_port"),
        ("https://hooks.example:0/", "invalid_url"),
        ("https://hooks.example:99999/", "invalid_url"),
        ("https://hooks.example/#part", "invalid_url"),
        ("ftp://hooks.example/", "invalid_url"),
        ("file:///etc/passwd", "invalid_url"),
        ("gopher://hooks.example/", "invalid_url"),
        ("hooks.example", "invalid_url"),
        ("//hooks.example/", "invalid_url"),
        ("https://", "invalid_url"),
        ("", "invalid_url"),
        ("https://hooks.example/\r\nX: y", "invalid_url"),
        ("https://hooks.example\\@inside.example/", "invalid_url"),
        ("https://hooks example/", "invalid_url"),
        ("https://[::1", "invalid_url"),
        ("https://127.1/", "url_private"),
        ("https://0x7f.1/", "url_private"),
        ("https://2130706433/", "url_private"),
        ("https://017700000001/", "url_private"),
    ],
)
async def test_urls_are_refused_with_a_word_of_why(url: str, code: str | None) -> None:
    check = WebhookUrls(Guard(Judgement(), PUBLIC_NAMES), plain_http=False).check
    if code is None:
        await check(url)
        return
    with pytest.raises(UrlFault) as fault:
        await check(url)
    assert fault.value.code == code
    assert "hooks.example" not in fault.value.message.replace("https://example.com/hooks", "")


async def test_plain_http_where_the_operator_allows_it() -> None:
    guard = Guard(Judgement(["10.0.0.0/8"]), PUBLIC_NAMES)
    await WebhookUrls(guard, plain_http=False).check("http://inside.example:25/")
    await WebhookUrls(guard, plain_http=True).check("http://hooks.example/")
    with pytest.raises(UrlFault):
        await WebhookUrls(guard, plain_http=False).check("http://hooks.example/")


async def test_plain_tcp_goes_the_same_way() -> None:
    async with web_peer() as peer:
        guard = Guard(Judgement(["127.0.0.0/8"]), names(**{"smtp.example": ["127.0.0.1"]}))
        _, writer = await asyncio.wait_for(guard.connect("smtp.example", peer.port), 5)
        assert ip_address(writer.get_extra_info("peername")[0]).is_loopback
        writer.close()
        await writer.wait_closed()
