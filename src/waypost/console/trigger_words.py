"""What a trigger does, as one would say it."""

from waypost.triggers.model import TriggerSpec

_RESOLVERS = {"primary": "the event's recipient", "tenant_admins": "your admins"}


def deeds(spec: TriggerSpec) -> list[str]:
    """One sentence for each thing that it does."""
    said: list[str] = []
    if spec.template is not None:
        said.append(f"Sends {spec.template} by {_channels(spec)} to {_whom(spec.recipient or '')}{_when(spec)}.")
    if spec.digest is not None:
        key = f" and {spec.digest.key}" if spec.digest.key else ""
        said.append(f"Collects for {spec.digest.window} per person{key}, and sends one message.")
    if spec.throttle is not None:
        key = f" and {spec.throttle.key}" if spec.throttle.key else ""
        said.append(f"At most {spec.throttle.max} in {spec.throttle.per} per person{key}.")
    if spec.reschedules is not None:
        said.append(f"Moves the timers of {spec.reschedules}.")
    if spec.cancels is not None:
        said.append(f"Drops the timers of {spec.cancels}.")
    return said


def _channels(spec: TriggerSpec) -> str:
    channels = spec.channels or (spec.channel or "email",)
    if spec.routing == "until_seen":
        return f"{', then '.join(channels)} until it is seen"
    return (" or " if spec.routing == "first" else " and ").join(channels)


def _whom(recipient: str) -> str:
    kind, _, name = recipient.partition(":")
    if name and kind in ("role", "tag"):
        return f"everyone with the {kind} {name}"
    return _RESOLVERS.get(recipient, recipient)


def _when(spec: TriggerSpec) -> str:
    if spec.anchor is None and spec.offset is None and spec.at is None:
        return ""
    anchor = spec.anchor or "it happened"
    offset = spec.offset or ""
    if offset.startswith("-"):
        said = f", {offset[1:]} before {anchor}"
    elif offset:
        said = f", {offset.removeprefix('+')} after {anchor}"
    else:
        said = f", on the day of {anchor}" if spec.at else f", at {anchor}"
    return f"{said}, at {spec.at}" if spec.at else said
