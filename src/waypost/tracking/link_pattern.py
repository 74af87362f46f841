"""Links of a version that differ from reader to reader by words only: the pattern is signed once for all messages, the
words once for each, and the two make an address together: `<pattern>.<words>`.

The pattern says where each word goes (`{0}`) and which values the words must be: words that were signed for another
set of values, of another language of the same version, say, do not fit. Words can follow only after a host that is
part of the pattern, so nothing a reader's data says decides whom a link leads to. In base64url, in one spelling:

    pattern: proof (16) · version (16) · place (2, of a pattern) · set of values (8) · address with holes
    words:   proof (16) · the words with commas between them
"""

import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Final

from waypost.kernel.mac import PROOF_BYTES, Prover
from waypost.kernel.spelling import spell, unspell
from waypost.tracking.targets import LONGEST

MOST_WORDS: Final = 10
LONGEST_WORD: Final = 64
SET_BYTES: Final = 8
_LONGEST_TEXT: Final = (PROOF_BYTES + MOST_WORDS * (LONGEST_WORD + 1)) * 4 // 3 + 3
_HOLE: Final = re.compile(r"\{([0-9])\}")
_HOST_AND_MORE: Final = re.compile(r"https?://[^/?#{]+[/?#]", re.IGNORECASE)

is_word = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_WORD}}}\Z").match
"""Means itself wherever it stands in an address, and needs no encoding in any part of a message."""


def set_of(names: Sequence[str]) -> bytes:
    """Stands for the values whose words a pattern wants, in their order."""
    return hashlib.sha256("\0".join(names).encode()).digest()[:SET_BYTES]


def hole(number: int) -> str:
    return f"{{{number}}}"


def is_pattern(text: str) -> bool:
    """Whatever the words, it becomes an address of the host that it names and is not too long. Asked of what is an
    address already, with words in place of its holes."""
    holes = len(_HOLE.findall(text))
    return bool(holes and _HOST_AND_MORE.match(text)) and len(text) + holes * LONGEST_WORD <= LONGEST


def filled(pattern: str, words: Sequence[str]) -> str | None:
    """None where words are wanting."""
    if any(int(number) >= len(words) for number in _HOLE.findall(pattern)):
        return None
    return _HOLE.sub(lambda found: words[int(found[1])], pattern)


class WordPen:
    """Writes the words of one set of values of one version."""

    __slots__ = ("_prove",)

    def __init__(self, link_key: bytes, of_set: bytes) -> None:
        self._prove = _prover(link_key, of_set)

    def write(self, words: Sequence[str]) -> str:
        """Each as `is_word` has it."""
        body = ",".join(words).encode("ascii")
        return spell(self._prove(body) + body)


def read_words(text: str) -> tuple[bytes, list[str]] | None:
    """What the text claims, with all of it for `are_genuine`; None where it is none."""
    raw = unspell(text, longest=_LONGEST_TEXT)
    if raw is None:
        return None
    words = raw[PROOF_BYTES:].decode("latin-1").split(",")
    if len(words) > MOST_WORDS or not all(map(is_word, words)):
        return None
    return raw, words


def are_genuine(raw: bytes, link_key: bytes, of_set: bytes) -> bool:
    proof, body = raw[:PROOF_BYTES], raw[PROOF_BYTES:]
    if hmac.compare_digest(proof, _prover(link_key, of_set)(body)):
        return True
    return hmac.compare_digest(proof, _proof_of_old(link_key, of_set, body))


def _prover(link_key: bytes, of_set: bytes) -> Prover:
    """Of a key of its own: what is signed as words is never taken for a link."""
    return Prover(hmac.digest(link_key, b"proof/words" + of_set, "sha256"))


def _proof_of_old(link_key: bytes, of_set: bytes, body: bytes) -> bytes:
    """In HMAC-SHA256: words that were sent out so lead on."""
    return hmac.digest(hmac.digest(link_key, b"words" + of_set, "sha256"), body, "sha256")[:PROOF_BYTES]
