"""The use cases about what people want, under one name, as surfaces call them."""

from dataclasses import dataclass

from waypost.kernel.tokens import Tokens
from waypost.notifications.consent import Consents
from waypost.notifications.explain import Explain
from waypost.notifications.hosted import Hosted
from waypost.preferences.choices import ChoiceDesk
from waypost.preferences.policies import Policies
from waypost.preferences.topics import Topics
from waypost.suppression.table import SuppressionTable


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    topics: Topics
    choices: ChoiceDesk
    policies: Policies
    consents: Consents
    explain: Explain
    hosted: Hosted
    tokens: Tokens
    suppression_table: SuppressionTable
