"""Who is stopped by what, what outranks what, and who may take it back."""

import pytest

from waypost.kernel.vocabulary import Category
from waypost.suppression.model import Releaser, SuppressionReason
from waypost.suppression.rules import blocks, may_release


def test_a_complaint_outranks_a_bounce_and_everything_outranks_a_rate_limit() -> None:
    ranked = sorted(SuppressionReason, key=lambda reason: -reason.rank)
    assert [reason.value for reason in ranked] == [
        "compliance",
        "complaint",
        "hard_bounce",
        "invalid_address",
        "manual",
        "soft_bounce",
        "rate_limit",
        "opt_out",
    ]


@pytest.mark.parametrize("category", list(Category))
def test_only_an_opt_out_looks_at_the_category(category: Category) -> None:
    for reason in SuppressionReason:
        stopped = reason is not SuppressionReason.OPT_OUT or category in {Category.MARKETING, Category.REMINDER}
        assert blocks(reason, category) == stopped


def test_an_opt_out_belongs_to_the_recipient_and_the_rest_to_the_operator() -> None:
    for reason in SuppressionReason:
        own = reason is SuppressionReason.OPT_OUT
        assert may_release(reason, Releaser.RECIPIENT) == own
        assert may_release(reason, Releaser.OPERATOR) != own
