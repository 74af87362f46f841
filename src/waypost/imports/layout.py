"""The first line of a file: how cells are separated, and what each column is."""

import codecs
from collections import Counter
from typing import Final

from waypost.imports.cells import cells_of
from waypost.imports.model import LONGEST_RECORD, MOST_COLUMNS, ImportOptions, Layout
from waypost.imports.records import cut
from waypost.kernel.errors import FieldError, Refused, refuse
from waypost.recipients.people import refuse_all
from waypost.recipients.rules import LONGEST_ATTRIBUTE_NAME

OURS: Final = frozenset({"id", "kind", "email", "phone", "locale", "timezone", "tags"})
SYSTEM: Final = frozenset(
    {
        "address_id",
        "bounced",
        "complained",
        "consent",
        "consented",
        "created_at",
        "data_key",
        "erased_at",
        "external_id",
        "hash",
        "marketing_consent",
        "merged_into",
        "opt_in",
        "opt_out",
        "opted_in",
        "opted_out",
        "permissions",
        "recipient_id",
        "role",
        "status",
        "subscribed",
        "suppressed",
        "suppression",
        "tenant",
        "tenant_id",
        "unsubscribe",
        "unsubscribed",
        "updated_at",
        "verified",
        "version",
    }
)
"""What a file might be taken to set and never does: these columns are ignored, and the import says so."""
_ATTRIBUTE: Final = "attributes."
_DELIMITERS: Final = (",", ";", "\t", "|")


def read_layout(head: bytes, options: ImportOptions, *, is_whole: bool) -> Layout:
    """From the first bytes of a file. Refuses what cannot be read at all, naming what to do about it."""
    head, skipped = _without_mark(head)
    found = cut(head, 1, 1, is_end=is_whole or len(head) > LONGEST_RECORD)
    if not found.records:
        raise refuse("/file", "empty_file", "The file is empty. Its first line names the columns.")
    first = found.records[0]
    if first.fault is not None:
        raise refuse("/file", "invalid_header", "The first line names the columns, and has at most 64 KB.")
    try:
        text = first.raw.decode()
    except UnicodeDecodeError:
        raise _not_utf8() from None
    delimiter = options.delimiter or _likely_delimiter(text)
    names = cells_of(text, delimiter)
    if names is None or "\0" in text:
        raise refuse("/file", "invalid_header", "The first line, which names the columns, cannot be read.")
    return _layout(tuple(name.strip() for name in names), delimiter, options, skipped + found.consumed, found.line)


def _layout(names: tuple[str, ...], delimiter: str, options: ImportOptions, begins_at: int, line: int) -> Layout:
    if len(names) > MOST_COLUMNS:
        raise refuse("/file", "too_many_columns", f"A file has at most {MOST_COLUMNS} columns.")
    _refuse_unknown(names, options)
    consents = {consent.column: number for number, consent in enumerate(options.consents)}
    targets: list[str | None] = []
    ignored: list[str] = []
    for name in names:
        target = f"consent:{consents[name]}" if name in consents else _target(name, options)
        if target == "":
            ignored.append(name)
        targets.append(target or None)
    doubled = [target for target, count in Counter(filter(None, targets)).items() if count > 1]
    if doubled:
        raise refuse("/options/columns", "doubled_column", f"Several columns are read as {doubled[0]}; leave one out.")
    if not {"id", "email", "phone"}.intersection(filter(None, targets)):
        message = "One column at least says who is meant: id, email or phone. Map it with `columns`."
        raise refuse("/file", "no_identity_column", message)
    return Layout(
        delimiter=delimiter,
        names=names,
        targets=tuple(targets),
        ignored=tuple(ignored),
        begins_at=begins_at,
        first_line=line,
    )


def _target(name: str, options: ImportOptions) -> str:
    """Empty where the column is not read."""
    if name in options.columns:
        return options.columns[name] or ""
    plain = name.lower().replace(" ", "_").replace("-", "_")
    if plain in OURS:
        return plain
    if plain == "e_mail":
        return "email"
    if plain in SYSTEM or not name or len(name) > LONGEST_ATTRIBUTE_NAME:
        return ""
    return name if name.startswith(_ATTRIBUTE) and len(name) > len(_ATTRIBUTE) else f"{_ATTRIBUTE}{name}"


def _refuse_unknown(names: tuple[str, ...], options: ImportOptions) -> None:
    errors = [
        FieldError(pointer="/options/columns", code="unknown_column", message="The file has no column of this name.")
        for name in options.columns
        if name not in names
    ]
    errors += [
        FieldError(
            pointer=f"/options/consents/{number}/column",
            code="unknown_column",
            message="The file has no column of this name.",
        )
        for number, consent in enumerate(options.consents)
        if consent.column not in names
    ]
    for target in filter(None, options.columns.values()):
        attribute = target.removeprefix(_ATTRIBUTE) if target.startswith(_ATTRIBUTE) else ""
        if target not in OURS and not 1 <= len(attribute) <= LONGEST_ATTRIBUTE_NAME:
            message = "A column becomes id, kind, email, phone, locale, timezone, tags or `attributes.` and a name."
            errors.append(FieldError(pointer="/options/columns", code="invalid_target", message=message))
    refuse_all(errors)


def _without_mark(head: bytes) -> tuple[bytes, int]:
    """Without the mark that some programs put before UTF-8; files in other encodings are refused."""
    if head.startswith(codecs.BOM_UTF8):
        return head[3:], 3
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in head[:4]:
        raise _not_utf8()
    return head, 0


def _not_utf8() -> Refused:
    return refuse("/file", "unsupported_encoding", "The file is not in UTF-8. Save it as `CSV UTF-8` and try again.")


def _likely_delimiter(text: str) -> str:
    outside = "".join(text.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)
