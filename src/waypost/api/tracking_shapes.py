"""How it is said whether opens and clicks are noticed."""

from typing import Annotated

from msgspec import Meta

from waypost.api.shapes import Shape
from waypost.kernel.tracking import UNSAID, Tracking


class TrackingShape(Shape):
    """Of emails with HTML. What is left out or null is decided by whoever is asked next: the call, then the version of
    the template, then the tenant's settings; without a word, marketing is tracked and nothing else."""

    opens: Annotated[bool, Meta(description="By a picture that is loaded.")] | None = None
    clicks: Annotated[bool, Meta(description="By links that lead through us.")] | None = None

    def tracking(self) -> Tracking:
        return Tracking(opens=self.opens, clicks=self.clicks)


def tracking_of(shape: TrackingShape | None) -> Tracking:
    return UNSAID if shape is None else shape.tracking()


def show_tracking(tracking: Tracking) -> TrackingShape:
    return TrackingShape(opens=tracking.opens, clicks=tracking.clicks)
