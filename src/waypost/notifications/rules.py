"""Pure decisions about a call to send: times, category, render context."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from waypost.channels.rules import check_headers
from waypost.kernel.address import split_mailbox
from waypost.kernel.errors import FieldError, Refused, refuse
from waypost.kernel.vocabulary import Category
from waypost.notifications.model import Routing, SubmitCommand

MOST_TARGETS: Final = 1_000
MOST_COPIES: Final = 20
METADATA_BYTES: Final = 16_384
VARIABLES_BYTES: Final = 262_144
PAST_GRACE: Final = timedelta(minutes=5)
FURTHEST_AHEAD: Final = timedelta(days=366)
LEAST_AFTER: Final = timedelta(seconds=1)
MOST_AFTER: Final = timedelta(days=30)
LIFETIME: Final[Mapping[Category, timedelta]] = {
    Category.SECURITY: timedelta(hours=1),
    Category.TRANSACTIONAL: timedelta(hours=24),
}
USUAL_LIFETIME: Final = timedelta(days=7)


_UNTIL_SEEN: Final = Routing.UNTIL_SEEN


class Timing(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    send_at: datetime
    expires_at: datetime


def check_command(command: SubmitCommand, now: datetime) -> None:
    """Refuses, naming every fault at once, what can be judged without looking anything up."""
    errors: list[FieldError] = []
    if not 0 < len(command.to) <= MOST_TARGETS:
        errors += _check_targets(command)
    # As nearly every call is: nothing can be wrong with one channel.
    if len(command.channels) != 1 or command.routing is _UNTIL_SEEN or command.after is not None:
        errors += _check_channels(command)
    errors += _check_what(command)
    if command.send_at is not None or command.expires_at is not None:
        errors += _check_times(command, now)
    if command.sender is not None or command.reply_to is not None or command.cc or command.bcc:
        errors += _check_mailboxes(command)
    if command.headers:
        errors += check_headers(command.headers, pointer="/headers")
    if command.metadata or command.variables:
        errors += _check_sizes(command)
    if errors:
        raise Refused("The request has fields that must be mended.", code=errors[0].code, errors=errors)


def choose_category(asked: Category | None, fixed: Category | None) -> Category:
    """The category of the template, or of the topic, wins: a call cannot relabel marketing as transactional."""
    if fixed is not None and asked not in (None, fixed):
        message = f"The template or topic belongs to {fixed.word}, and that counts. Leave `category` out."
        raise refuse("/category", "category_mismatch", message)
    return fixed or asked or Category.TRANSACTIONAL


def choose_timing(command: SubmitCommand, category: Category, now: datetime) -> Timing:
    send_at = max(command.send_at or now, now)
    expires_at = command.expires_at or send_at + LIFETIME.get(category, USUAL_LIFETIME)
    return Timing(send_at=send_at, expires_at=expires_at)


def _check_targets(command: SubmitCommand) -> Iterable[FieldError]:
    if not command.to and command.to_list is None:
        yield FieldError(pointer="/to", code="required", message="Name at least one recipient.")
    if len(command.to) > MOST_TARGETS:
        yield FieldError(
            pointer="/to", code="too_many", message=f"At most {MOST_TARGETS} recipients in one call; split it."
        )


def _check_channels(command: SubmitCommand) -> Iterable[FieldError]:
    if not command.channels:
        yield FieldError(pointer="/channels", code="required", message="Name at least one channel.")
    if len(command.channels) > 1 and len(set(command.channels)) < len(command.channels):
        yield FieldError(pointer="/channels", code="duplicate", message="Name each channel once.")
    if command.routing is _UNTIL_SEEN:
        if len(command.channels) < 2:
            message = "Name at least two channels to go through."
            yield FieldError(pointer="/channels", code="required", message=message)
        if command.after is None:
            message = "Say how long to wait for each channel, such as `10m`."
            yield FieldError(pointer="/after", code="required", message=message)
        elif not LEAST_AFTER <= command.after <= MOST_AFTER:
            yield FieldError(pointer="/after", code="out_of_range", message="From one second to 30 days.")
    elif command.after is not None:
        message = "Means something only with `routing: until_seen`."
        yield FieldError(pointer="/after", code="needs_until_seen", message=message)


def _check_what(command: SubmitCommand) -> Iterable[FieldError]:
    if (command.own_content is None) == (command.template is None):
        yield FieldError(
            pointer="/content", code="content_or_template", message="Give either `content` or `template`, not both."
        )
    if command.content is not None and command.content.html is None and command.content.text is None:
        yield FieldError(pointer="/content", code="required", message="Give `html`, `text` or both.")


def _check_times(command: SubmitCommand, now: datetime) -> Iterable[FieldError]:
    if command.send_at is not None and not now <= command.send_at <= now + FURTHEST_AHEAD:
        if command.send_at < now - PAST_GRACE:
            yield FieldError(
                pointer="/send_at", code="in_the_past", message="Lies more than five minutes in the past; leave it out."
            )
        if command.send_at > now + FURTHEST_AHEAD:
            yield FieldError(pointer="/send_at", code="too_far_ahead", message="May lie at most 366 days ahead.")
    if command.expires_at is not None:
        if command.expires_at <= now:
            yield FieldError(pointer="/expires_at", code="in_the_past", message="Must lie in the future.")
        elif command.send_at is not None and command.expires_at <= command.send_at:
            yield FieldError(pointer="/expires_at", code="before_send_at", message="Must be later than `send_at`.")
        elif command.expires_at > now + 2 * FURTHEST_AHEAD:
            yield FieldError(pointer="/expires_at", code="too_far_ahead", message="May lie at most two years ahead.")


def _check_mailboxes(command: SubmitCommand) -> Iterable[FieldError]:
    given = [("/from", command.sender), ("/reply_to", command.reply_to)]
    given += [(f"/cc/{index}", text) for index, text in enumerate(command.cc)]
    given += [(f"/bcc/{index}", text) for index, text in enumerate(command.bcc)]
    for pointer, text in given:
        if text is not None and split_mailbox(text) is None:
            yield FieldError(
                pointer=pointer,
                code="invalid_address",
                message="Write `name@example.com` or `Name <name@example.com>`.",
            )
    if len(command.cc) + len(command.bcc) > MOST_COPIES:
        yield FieldError(pointer="/cc", code="too_many", message=f"At most {MOST_COPIES} in cc and bcc together.")


def _check_sizes(command: SubmitCommand) -> Iterable[FieldError]:
    if len(msgspec.json.encode(command.metadata)) > METADATA_BYTES:
        yield FieldError(pointer="/metadata", code="too_large", message=f"At most {METADATA_BYTES} bytes as JSON.")
    if len(msgspec.json.encode(command.variables)) > VARIABLES_BYTES:
        yield FieldError(pointer="/variables", code="too_large", message=f"At most {VARIABLES_BYTES} bytes as JSON.")
