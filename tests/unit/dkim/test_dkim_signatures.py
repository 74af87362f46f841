"""Signatures that another implementation verifies, whatever the message looks like."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from random import Random
from uuid import UUID

import dkim
import pytest

from waypost.adapters.dkim.canonical import OVERSIGNED
from waypost.adapters.dkim.keys import DkimKeys
from waypost.adapters.dkim.signer import DkimSigner
from waypost.domains.model import Algorithm, SigningKey
from waypost.domains.ports import KeyPair

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
DOMAIN = "mail.example.com"
PLAIN = (
    b"Date: Thu, 15 Jan 2026 12:00:00 +0000\r\nFrom: Acme <hello@mail.example.com>\r\nTo: jane@example.org\r\n"
    b"Subject: Hello\r\nMessage-ID: <1@mail.example.com>\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: text/plain; charset="utf-8"\r\n\r\nHello Jane\r\n'
)


@pytest.fixture(scope="module")
def pairs() -> dict[Algorithm, KeyPair]:
    """Keys of the house's own making, once for all messages."""

    async def make() -> dict[Algorithm, KeyPair]:
        return {algorithm: await DkimKeys().make(algorithm) for algorithm in Algorithm}

    return asyncio.run(make())


def signer_of(pairs: dict[Algorithm, KeyPair], *algorithms: Algorithm) -> DkimSigner:
    keys = [
        SigningKey(id=UUID(int=1), algorithm=one, selector=f"s-{one.value}", private_key=pairs[one].private_key)
        for one in algorithms
    ]
    return DkimSigner(DOMAIN, keys)


def verified(pairs: dict[Algorithm, KeyPair], message: bytes, number: int) -> bool:
    def look_up(name: bytes, timeout: int = 5) -> bytes:
        selector, _, domain = name.decode().partition("._domainkey.")
        assert domain.rstrip(".") == DOMAIN
        algorithm = Algorithm(selector.removeprefix("s-"))
        return f"v=DKIM1; k={algorithm.value}; p={pairs[algorithm].public_key}".encode()

    # The wire ends every message with a line end.
    received = message if message.endswith(b"\r\n") else message + b"\r\n"
    try:
        return dkim.DKIM(received).verify(idx=number, dnsfunc=look_up)
    except dkim.ValidationError:
        return False


BLANKS = ("", " ", "\t", "  ", " \t ")
FOLDS = (" ", "\t", "\r\n ", "\r\n\t", "  ", " \t ", "\r\n   ")
NAMES = (
    "Reply-To", "Cc", "LIST-Unsubscribe", "List-Id", "list-unsubscribe-post", "Feedback-ID", "X-Other", "Received",
    "Content-Transfer-Encoding", "Sender", "Auto-Submitted",
)  # fmt: skip
ENDS = (b"", b"\r\n", b"\r\n\r\n\r\n", b" \r\n\t\r\n", b" ", b"\t\r\n")


def a_message(chance: Random) -> bytes:
    """Folded, blank, odd and empty in every place where mail may be."""

    def word() -> str:
        return "".join(chr(chance.randint(33, 126)) for _ in range(chance.randint(1, 12)))

    def value() -> str:
        return "".join(word() + chance.choice(FOLDS) for _ in range(chance.randint(1, 6))).rstrip()

    def line() -> bytes:
        if chance.random() < 0.2:
            return bytes(chance.choice(b"\x00\x0b\x0c\x80\xe2\xff=. \t") for _ in range(chance.randint(0, 20)))
        return "".join(chance.choice((word(), chance.choice(BLANKS))) for _ in range(chance.randint(0, 8))).encode()

    fields = [("From", " ", "Acme <hello@mail.example.com>"), ("To", chance.choice(BLANKS), value())]
    fields += [("Subject", chance.choice(BLANKS), value()), ("date", " ", "Thu, 15 Jan 2026 12:00:00 +0000")]
    fields += [("Message-ID", " ", "<1@mail.example.com>"), ("MIME-Version", "", "1.0")]
    fields += [(name, chance.choice(BLANKS), value()) for name in chance.sample(NAMES, chance.randint(0, 6))]
    chance.shuffle(fields)
    head = "".join(f"{name}:{blank}{text}\r\n" for name, blank, text in fields)
    body = b"\r\n".join(line() for _ in range(chance.randint(0, 8))) + chance.choice(ENDS)
    return head.encode() + b"\r\n" + body


CORNERS = (
    PLAIN,
    PLAIN.partition(b"\r\n\r\n")[0] + b"\r\n\r\n",
    PLAIN.partition(b"\r\n\r\n")[0] + b"\r\n\r\n\r\n\r\n",
    PLAIN.partition(b"\r\n\r\n")[0] + b"\r\n\r\n \r\n",
    PLAIN + "Grüße \N{PARTY POPPER}\t\r\n".encode(),
    PLAIN.replace(b"Subject: Hello", "Subject: Grüße".encode()),
)


@pytest.mark.parametrize("seed", range(3))
def test_ed25519_is_verified_by_others(pairs: dict[Algorithm, KeyPair], seed: int) -> None:
    chance, signer = Random(seed), signer_of(pairs, Algorithm.ED25519)
    for message in (*CORNERS, *(a_message(chance) for _ in range(700))):
        assert verified(pairs, signer.begin(message, NOW)() + message, 0), message


def test_both_are_verified_by_others(pairs: dict[Algorithm, KeyPair]) -> None:
    chance, signer = Random(5), signer_of(pairs, Algorithm.RSA, Algorithm.ED25519)
    for message in (*CORNERS, *(a_message(chance) for _ in range(200))):
        signed = signer.begin(message, NOW)() + message
        assert signed.count(b"DKIM-Signature:") == 2
        assert verified(pairs, signed, 0), message
        assert verified(pairs, signed, 1), message


def test_messages_read_one_after_the_other_are_signed_in_several_threads(pairs: dict[Algorithm, KeyPair]) -> None:
    chance, signer = Random(6), signer_of(pairs, Algorithm.RSA)
    assert signer.takes_long
    assert not signer_of(pairs, Algorithm.ED25519).takes_long
    messages = [a_message(chance) for _ in range(60)]
    begun = [signer.begin(message, NOW) for message in messages]
    with ThreadPoolExecutor(4) as threads:
        signatures = list(threads.map(lambda sign: sign(), begun))
    assert all(verified(pairs, own + message, 0) for own, message in zip(signatures, messages, strict=True))


def test_what_follows_a_message_on_the_wire_is_signed_with_it(pairs: dict[Algorithm, KeyPair]) -> None:
    start, tail = PLAIN, b"--x\r\nContent-Type: image/png\r\n\r\nAAAA\r\n--x--\r\n\r\n"
    signature = signer_of(pairs, Algorithm.ED25519).begin(start, NOW, tail)()
    assert verified(pairs, signature + start + tail, 0)
    assert not verified(pairs, signature + start, 0)


@pytest.mark.parametrize("name", [one.decode() for one in OVERSIGNED])
def test_nobody_can_add_a_second_one(pairs: dict[Algorithm, KeyPair], name: str) -> None:
    signature = signer_of(pairs, Algorithm.RSA).begin(PLAIN, NOW)()
    assert verified(pairs, signature + PLAIN, 0)
    assert not verified(pairs, f"{name.title()}: evil@example.net\r\n".encode() + signature + PLAIN, 0)
    assert not verified(pairs, signature + f"{name.title()}: evil@example.net\r\n".encode() + PLAIN, 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"Hello Jane", b"Hello Joan"),
        (b"Subject: Hello", b"Subject: Hallo"),
        (b"<1@mail", b"<2@mail"),
        (b"text/plain", b"text/html"),
        (b"Hello Jane\r\n", b"Hello Jane\r\nand more\r\n"),
    ],
)
def test_nobody_can_change_it(pairs: dict[Algorithm, KeyPair], before: bytes, after: bytes) -> None:
    signature = signer_of(pairs, Algorithm.ED25519).begin(PLAIN, NOW)()
    assert not verified(pairs, signature + PLAIN.replace(before, after), 0)


def test_how_it_is_written(pairs: dict[Algorithm, KeyPair]) -> None:
    said = signer_of(pairs, Algorithm.RSA, Algorithm.ED25519).begin(PLAIN, NOW)().decode()
    assert all(len(line) <= 78 for line in said.split("\r\n"))
    unfolded = re.sub(r"\r\n\s", "", said)
    assert " l=" not in unfolded
    assert [re.findall(r"a=([^;]+)", line) for line in unfolded.splitlines()] == [["rsa-sha256"], ["ed25519-sha256"]]
    signed = re.findall(r"h=([^;]+)", unfolded)[0].replace(" ", "").split(":")
    assert all(signed.count(one.decode()) == 2 for one in OVERSIGNED)
    assert {"message-id", "mime-version", "content-type"} <= set(signed)
    assert f"t={int(NOW.timestamp())};" in unfolded


def test_keys_are_not_shown(pairs: dict[Algorithm, KeyPair]) -> None:
    assert repr(pairs[Algorithm.RSA]) == "KeyPair(…)"
    assert repr(signer_of(pairs, Algorithm.RSA)) == "DkimSigner(…)"
    key = SigningKey(id=UUID(int=1), algorithm=Algorithm.RSA, selector="s", private_key=b"secret")
    assert "secret" not in repr(key)
