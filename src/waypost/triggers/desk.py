"""The use cases of events, triggers and timers under one name, as surfaces call them."""

from dataclasses import dataclass

from waypost.triggers.escalate import Escalations
from waypost.triggers.intake import DeadEvents
from waypost.triggers.manage import Triggers
from waypost.triggers.take import Events
from waypost.triggers.timers import Timers


@dataclass(frozen=True, kw_only=True, slots=True)
class EventDesk:
    events: Events
    triggers: Triggers
    timers: Timers
    escalations: Escalations
    dead: DeadEvents
