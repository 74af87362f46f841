"""`dev.env`: where `waypost up` leaves the address and the keys, and where the command line finds them."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from waypost.kernel.errors import Misconfigured
from waypost.settings import Settings, load

_LINE: Final = re.compile(r"(WAYPOST_[A-Z_]+)=(\S*)")
NAME: Final = "dev.env"


def read(data_dir: Path) -> dict[str, str]:
    """What the file says; empty where there is none."""
    try:
        text = (data_dir / NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except PermissionError:
        raise Misconfigured(
            f"{data_dir / NAME} belongs to another user: run as that user, or set WAYPOST_URL."
        ) from None
    lines = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {line[1]: line[2] for line in lines if line}


def write(data_dir: Path, values: Mapping[str, str]) -> None:
    """Replaces the file at once, never readable by others."""
    fresh = data_dir / f".{NAME}.{os.getpid()}"
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("# Written by `waypost up`. In a shell: set -a; . ./dev.env; set +a\n")
        file.writelines(f"{name}={value}\n" for name, value in values.items())
        file.flush()
        os.fsync(descriptor)
    fresh.replace(data_dir / NAME)


def with_dev_env(settings: Settings) -> Settings:
    """The settings, completed from `dev.env` where neither the environment nor an option names URL or keys."""
    if settings.url and (settings.api_key or settings.platform_key):
        return settings
    found = read(settings.data_dir)
    known = ("WAYPOST_URL", "WAYPOST_API_KEY", "WAYPOST_PLATFORM_KEY")
    return load({**{name: found[name] for name in known if name in found}, **settings.environment()})
