"""MAIL FROM and RCPT TO: an address in angle brackets, and what may stand behind it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_PATH: Final = re.compile(
    r"(?P<verb>FROM|TO): ?<(?P<address>[^<>\s]{0,320})>(?P<rest>(?: +[!-~]+)*) *\Z", re.IGNORECASE
)
_PARAMETER: Final = re.compile(r"([A-Z0-9][A-Z0-9-]*)(?:=([!-<>-~]+))?\Z", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    address: str = field(repr=False)
    parameters: Mapping[str, str]


def read_path(verb: str, text: str) -> Path | None:
    found = _PATH.match(text)
    if found is None or found["verb"].upper() != verb:
        return None
    parameters: dict[str, str] = {}
    for word in found["rest"].split():
        parameter = _PARAMETER.match(word)
        if parameter is None or parameter[1].upper() in parameters:
            return None
        parameters[parameter[1].upper()] = parameter[2] or ""
    return Path(address=found["address"], parameters=parameters)
