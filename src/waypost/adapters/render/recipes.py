"""How what is said in a message is made of its context, where a content does nothing but print values.

A child tells it once, with the skeleton of a mail or the sheet of parts that it belongs to. Who knows it looks the
values up and encodes them itself: nothing of it is a template, and nobody need be asked about the next message.
"""

import msgspec

Path = tuple[str, ...]
"""A name of the context, and names inside of what it is."""


class PlainTemplate(msgspec.Struct, array_like=True, frozen=True):
    literals: list[str]
    printed: list[Path]
    """What stands after each literal but the last."""


class MailRecipe(msgspec.Struct, array_like=True, frozen=True):
    subject: PlainTemplate
    printed: list[Path]
    """After the head are said each of these, for text and for markup."""
    ends: list[int]
    """And at last those with which a part ends: which of the pieces said."""
    words: list[Path]
    """What is signed for the message's links (`link_words`), where anything is."""


class PartsRecipe(msgspec.Struct, array_like=True, frozen=True):
    subject: PlainTemplate
    printed: list[Path]
    """Each is told for text and for markup."""
