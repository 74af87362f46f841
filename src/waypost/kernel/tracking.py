"""Whether opens and clicks of a message are noticed: what each who may decide about it has said."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Tracking:
    """None: nothing was said, and whoever is asked next decides."""

    opens: bool | None = None
    clicks: bool | None = None

    def or_else(self, fallback: "Tracking") -> "Tracking":
        return Tracking(
            opens=fallback.opens if self.opens is None else self.opens,
            clicks=fallback.clicks if self.clicks is None else self.clicks,
        )


UNSAID: Final = Tracking()
