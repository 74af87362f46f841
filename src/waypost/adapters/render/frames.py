"""What one child has told of its contents, by slot: kept by the pool as long as the child keeps the content."""

from dataclasses import dataclass, field

from waypost.adapters.render.plain_mail import PlainMail
from waypost.adapters.render.plain_parts import PlainParts
from waypost.adapters.render.sheet import FillableSheet
from waypost.adapters.render.skeleton import Frame


@dataclass(frozen=True, slots=True)
class Frames:
    mails: dict[int, Frame] = field(default_factory=dict[int, Frame])
    sheets: dict[int, FillableSheet] = field(default_factory=dict[int, FillableSheet])
    plain_mails: dict[int, PlainMail] = field(default_factory=dict[int, PlainMail])
    plain_parts: dict[int, PlainParts] = field(default_factory=dict[int, PlainParts])

    def forget(self, slot: int) -> None:
        for told in (self.mails, self.sheets, self.plain_mails, self.plain_parts):
            told.pop(slot, None)
