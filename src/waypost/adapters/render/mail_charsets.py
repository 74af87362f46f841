"""The character sets that mail is written in. They are loaded ahead: a confined process can open no file later."""

import codecs
from typing import Final

KNOWN: Final = (
    "ascii",
    "utf-8",
    "utf-16",
    "utf-7",
    *(f"iso8859-{number}" for number in range(1, 17) if number != 12),
    *(f"cp125{number}" for number in range(9)),
    *("cp437", "cp850", "cp852", "cp866", "cp874", "cp932", "cp949", "cp950"),
    *("koi8-r", "koi8-u", "mac-roman", "tis-620"),
    *("gb2312", "gbk", "gb18030", "hz", "big5", "big5hkscs"),
    *("shift_jis", "euc_jp", "iso2022_jp", "euc_kr", "iso2022_kr", "johab"),
)
_BY_OTHER_NAMES: Final = {"unknown-8bit": "utf-8", "x-sjis": "shift_jis", "x-gbk": "gbk", "ks_c_5601-1987": "cp949"}
_MEANT: Final = {"ascii": "utf-8", "us-ascii": "utf-8", "iso8859-1": "cp1252", "iso-8859-1": "cp1252"}
"""What is written under these names: who says ASCII and writes more than that writes UTF-8."""


def load_charsets() -> None:
    for name in KNOWN:
        codecs.lookup(name)


def decode(data: bytes, charset: str | None) -> str:
    """Never fails: what does not fit becomes the sign for that."""
    name = (charset or "ascii").strip("\"' ").lower()
    name = _BY_OTHER_NAMES.get(name, name)
    try:
        return data.decode(_MEANT.get(name, name), "replace")
    except (LookupError, ValueError):
        # Unknown here, or no encoding of text at all.
        return data.decode("utf-8", "replace")
