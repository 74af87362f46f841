"""Which suppression stops which message, and who may take it back."""

from typing import Final

from waypost.kernel.vocabulary import Category
from waypost.suppression.model import OptOut, Releaser, SuppressionReason

HARD: Final = frozenset(SuppressionReason) - {SuppressionReason.OPT_OUT}
ENDS_BY_ITSELF: Final = frozenset({SuppressionReason.SOFT_BOUNCE, SuppressionReason.RATE_LIMIT})
"""These need an end: nobody comes to take them back."""


def blocks(reason: SuppressionReason, category: Category, *, reminders: bool = True) -> bool:
    """Hard reasons stop everything; an opt-out stops marketing and reminders, never what a person relies on."""
    return reason in HARD or opt_out_stops(category, reminders=reminders)


def opt_out_stops(category: Category, *, reminders: bool) -> bool:
    return category is Category.MARKETING or (reminders and category is Category.REMINDER)


def stands_against(opt_out: OptOut, topic: str | None) -> bool:
    """Whether an opt-out is about this topic: an opt-out from all is about every topic not consented to since."""
    return topic not in opt_out.spared if opt_out.topic == "" else opt_out.topic == topic


def may_release(reason: SuppressionReason, releaser: Releaser) -> bool:
    """A person's opt-out is theirs alone to take back; everything else is the operator's."""
    return (reason is SuppressionReason.OPT_OUT) == (releaser is Releaser.RECIPIENT)


def outranks(new: SuppressionReason, standing: SuppressionReason) -> bool:
    return new.rank > standing.rank
