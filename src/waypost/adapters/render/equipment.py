"""The libraries that only some content needs. A child loads them at its start or never: later it can open no file."""

import sys
from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from typing import Any, Final

_WISH: Final = "equipment:"


class Equipment(StrEnum):
    WORDING = "wording"
    """Dates, numbers and plurals of many languages."""
    LIQUID = "liquid"
    """The second template language."""
    PRESS = "press"
    """What makes HTML of MJML, markdown and CSS."""
    LETTERS = "letters"
    """What reads mail that others composed."""
    SCHEMAS = "schemas"
    """What holds variables against a schema."""


_MODULES: Final = {
    Equipment.WORDING: "waypost.adapters.render.wording",
    Equipment.LIQUID: "waypost.adapters.render.liquid_engine",
    Equipment.PRESS: "waypost.adapters.render.press",
    Equipment.LETTERS: "waypost.adapters.render.mail_parse",
    Equipment.SCHEMAS: "waypost.adapters.render.schema_check",
}


def load(equipment: Equipment) -> None:
    import_module(_MODULES[equipment])


def loaded(equipment: Equipment) -> Any:
    """The module, or None where this process has not loaded it."""
    return sys.modules.get(_MODULES[equipment])


def needed(equipment: Equipment, read: Callable[[str], object]) -> Any:
    """The module. A process that has not loaded it tells whoever reads for it, and is replaced by one that has."""
    module = loaded(equipment)
    if module is None:
        read(_wish_for(equipment))
        load(equipment)
        module = loaded(equipment)
    return module


def _wish_for(equipment: Equipment) -> str:
    return _WISH + equipment


def equipment_named(wish: str) -> Equipment | None:
    """What a child asks to be replaced for, if its wish is of this kind."""
    return next((each for each in Equipment if wish == _wish_for(each)), None)
