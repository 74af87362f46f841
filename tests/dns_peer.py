"""A name server on loopback, over UDP and TCP, for one zone of one test: it answers, or misbehaves, name by name."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import cast

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

SILENT = "silent"
SERVFAIL = "servfail"
REFUSED = "refused"
TRUNCATED = "truncated"
"""Over UDP only: whoever asks must come again by TCP."""
GARBAGE = "garbage"


class Zone(asyncio.DatagramProtocol):
    """`zone.set("TXT", "example.com", "v=spf1 -all")`; `zone.misbehave("example.com", SERVFAIL)`."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], list[str]] = {}
        self.moods: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        self.port = 0
        self._transport: asyncio.DatagramTransport | None = None

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self.port}"

    def set(self, kind: str, name: str, *values: str) -> None:
        self.records[name.lower(), kind] = [f'"{value}"' if kind == "TXT" else value for value in values]

    def drop(self, kind: str, name: str) -> None:
        self.records.pop((name.lower(), kind), None)

    def misbehave(self, name: str, mood: str | None) -> None:
        """`name` may be `*`, for all of them."""
        if mood is None:
            self.moods.pop(name, None)
        else:
            self.moods[name] = mood

    def answer(self, wire: bytes, *, by_tcp: bool) -> bytes | None:
        query = dns.message.from_wire(wire)
        question = query.question[0]
        name, kind = question.name.to_text(omit_final_dot=True).lower(), dns.rdatatype.to_text(question.rdtype)
        self.asked.append((name, kind))
        mood = self.moods.get(name) or self.moods.get("*")
        if mood == SILENT:
            return None
        if mood == GARBAGE:
            return wire[:2] + b"\xff" * 20
        response = dns.message.make_response(query, recursion_available=True)
        if mood == SERVFAIL:
            response.set_rcode(dns.rcode.SERVFAIL)
        elif mood == REFUSED:
            response.set_rcode(dns.rcode.REFUSED)
        elif mood == TRUNCATED and not by_tcp:
            response.flags |= dns.flags.TC
        else:
            self._fill(response, name, kind)
        return response.to_wire(max_size=65_535)

    def _fill(self, response: dns.message.Message, name: str, kind: str) -> None:
        for _ in range(20):
            values = self.records.get((name, kind))
            alias = self.records.get((name, "CNAME"))
            if values:
                response.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", kind, *_quoted(kind, values)))
                return
            if not alias:
                break
            response.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", "CNAME", f"{alias[0]}."))
            name = alias[0].lower()
        if not any(known == name or known.endswith(f".{name}") for known, _ in self.records):
            response.set_rcode(dns.rcode.NXDOMAIN)

    # asyncio's own names

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self.answer(data, by_tcp=False)
        if answer is not None and self._transport is not None:
            self._transport.sendto(answer, addr)

    async def serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                answer = self.answer(await reader.readexactly(length), by_tcp=True)
                if answer is None:
                    break
                writer.write(struct.pack("!H", len(answer)) + answer)
                await writer.drain()
        writer.close()


def _quoted(kind: str, values: list[str]) -> list[str]:
    """A string of a TXT record has at most 255 octets: long texts are several."""
    if kind == "MX":
        return [f"{value}." for value in values]
    if kind != "TXT":
        return [f"{value}." for value in values] if kind == "CNAME" else values
    cut: list[str] = []
    for value in values:
        bare = value[1:-1]
        cut.append(" ".join(f'"{bare[start : start + 200]}"' for start in range(0, len(bare) or 1, 200)))
    return cut


@pytest.fixture
async def zone() -> AsyncIterator[Zone]:
    loop, zone = asyncio.get_running_loop(), Zone()
    for _ in range(50):
        tcp = await asyncio.start_server(zone.serve_tcp, "127.0.0.1", 0)
        port: int = tcp.sockets[0].getsockname()[1]
        try:
            udp, _ = await loop.create_datagram_endpoint(lambda: zone, local_addr=("127.0.0.1", port))
        except OSError:
            tcp.close()
            continue
        break
    else:
        raise RuntimeError("no port is free for both UDP and TCP")
    zone.port = port
    try:
        yield zone
    finally:
        udp.close()
        tcp.close()
