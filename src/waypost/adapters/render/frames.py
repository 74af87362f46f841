"""What one child has told of its contents, by slot: kept by the pool as long as the child keeps the content."""

from dataclasses import dataclass, field

from waypost.adapters.render.sheet import FillableSheet
from waypost.adapters.render.skeleton import Frame


@dataclass(frozen=True, slots=True)
class Frames:
    mails: dict[int, Frame] = field(default_factory=dict[int, Frame])
    sheets: dict[int, FillableSheet] = field(default_factory=dict[int, FillableSheet])

    def forget(self, slot: int) -> None:
        self.mails.pop(slot, None)
        self.sheets.pop(slot, None)
