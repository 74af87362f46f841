"""`to: {"list": "project-7"}`: everyone who is in the list at this moment."""

from collections.abc import Sequence

from msgspec.structs import replace

from waypost.kernel.errors import Refused, refuse
from waypost.kernel.work import Transaction
from waypost.notifications.intent import Intent
from waypost.notifications.rules import MOST_TARGETS
from waypost.recipients.lists import ListKeys
from waypost.recipients.model import Target


async def name_members(tx: Transaction, lists: ListKeys, intents: Sequence[Intent]) -> None:
    for intent in intents:
        if intent.command.to_list is None:
            continue
        try:
            members = await lists.members(tx, intent.command.to_list, MOST_TARGETS + 1)
            if len(members) > MOST_TARGETS:
                message = (
                    f"The list has more than {MOST_TARGETS:,} members, the most for one call. "
                    "Send to them in parts with POST /v1/notifications/bulk, or make it a broadcast."
                )
                raise refuse("/to/list", "list_too_large", message)
        except Refused as refusal:
            intent.refuse(refusal)
        else:
            targets = tuple(Target(id=member, must_exist=True) for member in members)
            intent.command = replace(intent.command, to=targets)
