"""What may be said about the error that ended a process: what kind it was and where; never its words.

Drivers and parsers put what they choked on into their messages, and that is somebody's data.
"""

import re
from typing import Final, cast

_FOLDERS: Final = re.compile(r"/(?:site-packages|src|lib/python[0-9.]+)/")
_MOST_STEPS: Final = 12


def last_words(error: BaseException) -> list[str]:
    """One line per error: of a group, one for each inside; of a chain, the last."""
    if isinstance(error, BaseExceptionGroup):
        inner = cast("tuple[BaseException, ...]", error.exceptions)
        return [line for one in inner for line in last_words(one)]
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    return [" < ".join([kind, *reversed(_steps(error)[-_MOST_STEPS:])])]


def _steps(error: BaseException) -> list[str]:
    steps: list[str] = []
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        steps.append(f"{_FOLDERS.split(code.co_filename)[-1]}:{step.tb_lineno} {code.co_name}")
        step = step.tb_next
    return steps
