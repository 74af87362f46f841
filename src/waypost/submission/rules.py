"""How a mail that was read becomes a call to send. Its words are data: nothing in them is a template."""

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

from waypost.kernel.address import Address, normalise_email
from waypost.kernel.attachments import NewFile
from waypost.kernel.errors import FieldError, Refused, refuse
from waypost.kernel.jsontypes import JsonObject, JsonValue
from waypost.kernel.tracking import UNSAID, Tracking
from waypost.kernel.vocabulary import CATEGORIES, PRIORITIES, Category, Priority
from waypost.notifications.model import Once, SubmitCommand
from waypost.recipients.model import RecipientFields, Target
from waypost.submission.model import Enclosure, ReadMail
from waypost.templates.model import Content

_CATEGORY: Final = "category"
_TOPIC: Final = "topic"
_PRIORITY: Final = "priority"
_METADATA: Final = "metadata"
_TAGS: Final = "tags"
_TRACKING: Final = "tracking"
CONTROLS: Final = (_CATEGORY, _TOPIC, _PRIORITY, _METADATA, _TAGS, _TRACKING)
_TRACKINGS: Final = {
    "on": Tracking(opens=True, clicks=True),
    "off": Tracking(opens=False, clicks=False),
    "opens": Tracking(opens=True, clicks=False),
    "clicks": Tracking(opens=False, clicks=True),
}
_SUBJECT: Final = "mail_subject"
_HTML: Final = "mail_html"
_TEXT: Final = "mail_text"
_MOST_TAGS: Final = 20
_LONGEST_TAG: Final = 100


def command_of(mail: ReadMail, recipients: tuple[str, ...]) -> SubmitCommand:
    """One notification to each recipient of the envelope, under a name that a repetition of the same mail has too."""
    controls = _controls(mail)
    return SubmitCommand(
        to=tuple(Target(fields=RecipientFields(email=address)) for address in _once_each(recipients)),
        content=_content(mail),
        variables=_variables(mail),
        category=_category(controls.get(_CATEGORY)),
        topic=controls.get(_TOPIC),
        priority=_priority(controls.get(_PRIORITY)),
        tracking=_tracking(controls.get(_TRACKING)),
        sender=mail.sender,
        reply_to=mail.reply_to,
        headers=mail.headers,
        attachments=tuple(_file(number, one) for number, one in enumerate(mail.enclosures, 1)),
        metadata=_metadata(controls),
        once=_once(mail),
    )


def _file(number: int, enclosure: Enclosure) -> NewFile:
    return NewFile(
        filename=enclosure.name or f"part-{number}",
        content=enclosure.content,
        content_type=enclosure.media_type,
        content_id=enclosure.content_id,
    )


def _once_each(recipients: tuple[str, ...]) -> tuple[str, ...]:
    """By their one spelling."""
    spelled: dict[str, None] = {}
    for text in recipients:
        address = normalise_email(text)
        spelled.setdefault(address.text if isinstance(address, Address) else text)
    return tuple(spelled)


def _content(mail: ReadMail) -> Content:
    """The same few contents for every mail there is: what differs is in the variables, sealed with the person's key."""
    return Content(
        subject=f"{{{{ {_SUBJECT} }}}}",
        html=None if mail.html is None else f"{{{{ {_HTML}|safe }}}}",
        text=None if mail.text is None and mail.html is not None else f"{{{{ {_TEXT} }}}}",
    )


def _variables(mail: ReadMail) -> JsonObject:
    words: dict[str, JsonValue] = {_SUBJECT: mail.subject}
    if mail.html is not None:
        words[_HTML] = mail.html
    if mail.text is not None or mail.html is None:
        words[_TEXT] = mail.text or ""
    return words


def _once(mail: ReadMail) -> Once | None:
    """The Message-ID together with what was written: software that gives every mail the same id loses none of them."""
    if mail.message_id is None:
        return None
    said = (mail.message_id, mail.sender, mail.subject, mail.html, mail.text, mail.enclosures)
    return Once(key=f"smtp:{hashlib.sha256(msgspec.msgpack.encode(said)).hexdigest()}")


def _controls(mail: ReadMail) -> Mapping[str, str]:
    errors = [
        FieldError(
            pointer="/headers/X-Waypost-",
            code="header_refused",
            message=f"Of X-Waypost-… there are only {', '.join(name.title() for name in CONTROLS)}.",
        )
        for name, _ in mail.controls
        if name not in CONTROLS
    ]
    if errors:
        raise Refused(errors[0].message, code=errors[0].code, errors=errors)
    return dict(mail.controls)


def _category(word: str | None) -> Category | None:
    if word is None:
        return None
    if word.lower() not in CATEGORIES:
        raise _refuse_control(_CATEGORY, f"One of {', '.join(CATEGORIES)}.")
    return CATEGORIES[word.lower()]


def _priority(word: str | None) -> Priority:
    if word is None:
        return Priority.NORMAL
    if word.lower() not in PRIORITIES:
        raise _refuse_control(_PRIORITY, f"One of {', '.join(PRIORITIES)}.")
    return PRIORITIES[word.lower()]


def _tracking(word: str | None) -> Tracking:
    if word is None:
        return UNSAID
    if word.lower() not in _TRACKINGS:
        raise _refuse_control(_TRACKING, f"One of {', '.join(_TRACKINGS)}.")
    return _TRACKINGS[word.lower()]


def _metadata(controls: Mapping[str, str]) -> JsonObject:
    metadata: JsonObject = {}
    if _METADATA in controls:
        try:
            metadata = msgspec.json.decode(controls[_METADATA], type=dict[str, object])  # pyright: ignore[reportAssignmentType] — JSON
        except (msgspec.DecodeError, RecursionError):
            raise _refuse_control(_METADATA, "A JSON object.") from None
    if _TAGS in controls:
        tags = [tag.strip() for tag in controls[_TAGS].split(",") if tag.strip()]
        if len(tags) > _MOST_TAGS or any(len(tag) > _LONGEST_TAG for tag in tags):
            raise _refuse_control(
                _TAGS, f"At most {_MOST_TAGS} words of at most {_LONGEST_TAG} characters, with commas."
            )
        metadata = {**metadata, "tags": list[JsonValue](tags)}
    return metadata


def _refuse_control(name: str, message: str) -> Refused:
    return refuse(f"/headers/X-Waypost-{name.title()}", "header_refused", f"X-Waypost-{name.title()}: {message}")
