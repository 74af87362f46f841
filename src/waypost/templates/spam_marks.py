"""What makes a subject, or what stands below it, look like spam, in plain words."""

from collections.abc import Iterator, Sequence
from typing import Final

from waypost.templates.lint_markup import TEMPLATE_TAG

_PHRASES: Final = (
    "100% free",
    "act now",
    "buy now",
    "cash bonus",
    "click here",
    "congratulations you",
    "earn money",
    "free money",
    "guaranteed",
    "limited time offer",
    "make money",
    "no obligation",
    "risk free",
    "this is not spam",
    "winner",
    "you have been selected",
)
_IN_BODIES: Final = frozenset(
    {"100% free", "cash bonus", "earn money", "free money", "make money", "risk free", "this is not spam"}
)
"""The others stand in many an honest letter."""
_FEWEST_LETTERS: Final = 8
_SHOUTED_WORDS: Final = 12


def spam_marks(subject: str) -> Iterator[str]:
    words = TEMPLATE_TAG.sub("", subject)
    lowered = words.lower()
    letters = [letter for letter in words if letter.isalpha()]
    if len(letters) >= _FEWEST_LETTERS and all(letter.isupper() for letter in letters):
        yield "Is written in capitals only, as spam is."
    if "!!" in words or words.count("!") > 1:
        yield "Has several exclamation marks, as spam has."
    if "$$" in words or "€€" in words:
        yield "Has several currency signs in a row, as spam has."
    for phrase in _PHRASES:
        if phrase in lowered:
            yield f"Says “{phrase}”, which filters of spam know well."
    if lowered.startswith(("re:", "fwd:", "fw:")):
        yield "Pretends to be an answer."


def body_spam_marks(words: Sequence[str]) -> Iterator[str]:
    """Of what is read in the message itself."""
    text = " ".join(words)
    lowered = text.lower()
    shouted = [word for word in words if len(word) > 1 and word.isalpha() and word.isupper()]
    if len(shouted) >= _SHOUTED_WORDS and 2 * len(shouted) > len(words):
        yield "Is mostly written in capitals, as spam is."
    if "!!!" in text:
        yield "Has three exclamation marks in a row, as spam has."
    if "$$$" in text or "€€€" in text:
        yield "Has several currency signs in a row, as spam has."
    for phrase in _PHRASES:
        if phrase in _IN_BODIES and phrase in lowered:
            yield f"Says “{phrase}”, which filters of spam know well."
