"""What a check found."""

from typing import Final

import msgspec

OK: Final = "ok"
WARN: Final = "warn"
FAIL: Final = "fail"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    check: str
    result: str
    said: str
    remedy: str = ""


def ok(check: str, said: str) -> Finding:
    return Finding(check=check, result=OK, said=said)


def warn(check: str, said: str, remedy: str) -> Finding:
    return Finding(check=check, result=WARN, said=said, remedy=remedy)


def fail(check: str, said: str, remedy: str) -> Finding:
    return Finding(check=check, result=FAIL, said=said, remedy=remedy)
