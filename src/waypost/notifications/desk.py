"""The use cases of notifications under one name, as surfaces call them."""

from dataclasses import dataclass

from waypost.notifications.activity import ActivityReader
from waypost.notifications.bulk import SubmitBulk
from waypost.notifications.cancel import Cancel
from waypost.notifications.fan_out import FanOut
from waypost.notifications.ports import SubmitCall
from waypost.notifications.read import Reader
from waypost.notifications.resend import Resend
from waypost.notifications.together import Together


@dataclass(frozen=True, kw_only=True, slots=True)
class Notifications:
    submit: SubmitCall
    fan_out: FanOut
    """One message to many, for whoever has them all."""
    together: Together
    bulk: SubmitBulk
    read: Reader
    cancel: Cancel
    resend: Resend
    activity: ActivityReader
