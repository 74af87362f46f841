"""Which suppression stops which message, and who may take it back."""

from typing import Final

from waypost.kernel.vocabulary import Category
from waypost.suppression.model import Releaser, SuppressionReason

_OPT_OUT_STOPS: Final = frozenset({Category.MARKETING, Category.REMINDER})
HARD: Final = frozenset(SuppressionReason) - {SuppressionReason.OPT_OUT}


def blocks(reason: SuppressionReason, category: Category) -> bool:
    """Hard reasons stop everything; an opt-out stops marketing and reminders, never what a person relies on."""
    return reason in HARD or category in _OPT_OUT_STOPS


def may_release(reason: SuppressionReason, releaser: Releaser) -> bool:
    """A person's opt-out is theirs alone to take back; everything else is the operator's."""
    return (reason is SuppressionReason.OPT_OUT) == (releaser is Releaser.RECIPIENT)


def outranks(new: SuppressionReason, standing: SuppressionReason) -> bool:
    return new.rank > standing.rank
