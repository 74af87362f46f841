"""The libraries that only some content needs. A child loads them at its start or never: later it can open no file."""

import sys
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


_MODULES: Final = {
    Equipment.WORDING: "waypost.adapters.render.wording",
    Equipment.LIQUID: "waypost.adapters.render.liquid_engine",
    Equipment.PRESS: "waypost.adapters.render.press",
    Equipment.LETTERS: "waypost.adapters.render.mail_parse",
}


def load(equipment: Equipment) -> None:
    import_module(_MODULES[equipment])


def loaded(equipment: Equipment) -> Any:
    """The module, or None where this process has not loaded it."""
    return sys.modules.get(_MODULES[equipment])


def wish_for(equipment: Equipment) -> str:
    return _WISH + equipment


def equipment_named(wish: str) -> Equipment | None:
    """What a child asks to be replaced for, if its wish is of this kind."""
    return next((each for each in Equipment if wish == wish_for(each)), None)
