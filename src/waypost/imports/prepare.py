"""Everything about some rows that needs nobody to be asked: read, checked, and newcomers drafted.

It is a good part of the work, and is done for the next rows while the database writes these.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from waypost.imports.model import LONGEST_RECORD, Layout, RowFault, Spec
from waypost.imports.records import Cut, cut
from waypost.imports.rows import Row, RowReader, column_of
from waypost.kernel.errors import FieldError
from waypost.kernel.vault import TenantKey
from waypost.recipients.merge import Merge
from waypost.recipients.model import RecipientKind
from waypost.recipients.newcomer import draft_newcomer
from waypost.recipients.party import Party, ReadParty, read_party
from waypost.recipients.resolve import Ahead
from waypost.recipients.rules import MOST_TAGS, check_tags, is_minted


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """Where rows begin: an offset in the file, and what is known of it there."""

    offset: int
    line: int
    is_skipping: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    start: Start
    found: Cut
    rows: Sequence[Row]
    parties: Sequence[Party]
    faults: Sequence[RowFault]
    ahead: Ahead
    rest: bytes
    """What was read beyond these rows."""
    is_end: bool
    """Nothing comes behind the rest."""

    @property
    def next(self) -> Start:
        return Start(
            offset=self.start.offset + self.found.consumed, line=self.found.line, is_skipping=self.found.is_skipping
        )

    @property
    def has_more_at_hand(self) -> bool:
        """Enough of the file to prepare the next rows from it."""
        return len(self.rest) > (0 if self.is_end else 2 * LONGEST_RECORD)


def prepare(
    tenant_id: str,
    buffer: bytes,
    start: Start,
    spec: Spec,
    most: int,
    key: TenantKey,
    now: datetime,
    *,
    is_end: bool,
    mostly_new: bool,
) -> Prepared:
    found = cut(
        buffer,
        start.line,
        most,
        is_end=is_end,
        is_skipping=start.is_skipping,
        delimiter=spec.layout.delimiter,
    )
    rows: list[Row] = []
    faults: list[RowFault] = []
    reader = RowReader(spec.layout, spec.options)
    for record in found.records:
        read = reader(record)
        if not isinstance(read, Row):
            faults.append(read)
        elif wrong := _tag_faults(read, spec.layout):
            faults += wrong
        else:
            rows.append(read)
    parties = [Party(targets=(row.target,), channels=(), is_list=False, pointer="") for row in rows]
    members = [read_party(party, key) for party in parties]
    drafts = _drafts(tenant_id, members, key, now) if mostly_new else {}
    return Prepared(
        start=start,
        found=found,
        rows=rows,
        parties=parties,
        faults=faults,
        ahead=Ahead(read=members, drafts=drafts),
        rest=buffer[found.consumed :],
        is_end=is_end,
    )


def fault_at(line: int, error: FieldError, layout: Layout) -> RowFault:
    return RowFault(line=line, column=column_of(error.pointer, layout), code=error.code, message=error.message)


def _drafts(tenant_id: str, parties: Sequence[ReadParty], key: TenantKey, now: datetime) -> dict[str, Merge]:
    """Of those who are named once and by an id that is the file's own."""
    sound = [members[0] for members, errors in parties if not errors]
    times = Counter(member.id for member in sound)
    return {
        member.id: draft_newcomer(tenant_id, member.id, RecipientKind.USER, member.said, key, now)
        for member in sound
        if member.id is not None and times[member.id] == 1 and not is_minted(member.id)
    }


def _tag_faults(row: Row, layout: Layout) -> list[RowFault]:
    if not row.tags:
        return []
    _, errors = check_tags(row.tags, "/tags")
    return [fault_at(row.line, error, layout) for error in errors[:MOST_TAGS]]
