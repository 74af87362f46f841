"""What makes a subject look like spam, in plain words."""

from collections.abc import Iterator
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
_FEWEST_LETTERS: Final = 8


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
