"""What requests and answers about domains look like."""

from typing import Annotated, Final

from msgspec import Meta, field

from waypost.api.shapes import Moment, Shape
from waypost.domains.manage import LONGEST_OVERLAP_DAYS, DomainView
from waypost.domains.model import Algorithm, CheckName, CheckResult, DomainState, KeyState, Purpose, RecordType
from waypost.kernel import ids

_Name = Annotated[str, Meta(description="In any spelling; kept as DNS has it.", examples=["mail.example.com"])]
_Purposes = Annotated[
    list[Purpose],
    Meta(description="What it is for. `tracking` needs a name of its own; `from` and `return_path` may share one."),
]


class NewDomain(Shape):
    name: _Name
    purposes: _Purposes = field(default_factory=lambda: [Purpose.FROM])


class KeyRotation(Shape):
    overlap: Annotated[
        str,
        Meta(
            description=f"How long the records of the old keys must stay, at most {LONGEST_OVERLAP_DAYS}d.",
            examples=["7d"],
        ),
    ] = "7d"


class DnsRecordView(Shape):
    type: RecordType
    name: str
    value: str
    purpose: Annotated[str, Meta(description="What it is for, in a sentence.")]
    check: CheckName
    required: Annotated[bool, Meta(description="False: good to have, and told to you, but not waited for.")]
    found: Annotated[bool, Meta(description="null: not looked for yet, or the name servers did not say.")] | None


class DomainCheckView(Shape):
    name: CheckName
    result: Annotated[
        CheckResult, Meta(description="`unknown`: the name servers did not say; what was believed before holds.")
    ]
    required: bool
    said: Annotated[str, Meta(description="What was found, in a sentence.")]


class DkimKeyView(Shape):
    selector: str
    algorithm: Algorithm
    state: KeyState
    created_at: Moment
    active_at: Moment | None
    retired_until: Annotated[Moment, Meta(description="Until then its record must stay.")] | None


class DomainShape(Shape):
    id: str
    name: str
    purposes: list[Purpose]
    state: DomainState
    records: Annotated[list[DnsRecordView], Meta(description="What to set in DNS, and whether it was found.")]
    checks: Annotated[list[DomainCheckView], Meta(description="What the last check found; empty before the first.")]
    keys: list[DkimKeyView]
    checked_at: Moment | None
    verified_at: Moment | None
    failing_since: Annotated[Moment, Meta(description="Three days after that it is `failed`.")] | None
    next_check_at: Moment
    version: int
    created_at: Moment
    updated_at: Moment


DOMAIN_EXAMPLE: Final = {
    "id": "dom_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "name": "mail.example.com",
    "purposes": ["from"],
    "state": "verified",
    "records": [
        {
            "type": "TXT",
            "name": "_waypost.mail.example.com",
            "value": "waypost-domain=6f0c2d7f5c3b4f0f9d5f4a1c7e8b2a90",
            "purpose": "Proves that the domain is yours.",
            "check": "ownership",
            "required": True,
            "found": True,
        }
    ],
    "checks": [{"name": "ownership", "result": "passed", "required": True, "said": "The record is there."}],
    "keys": [
        {
            "selector": "wpk3x9q2ra-rsa",
            "algorithm": "rsa",
            "state": "active",
            "created_at": "2026-01-15T12:00:00Z",
            "active_at": "2026-01-15T12:30:00Z",
            "retired_until": None,
        }
    ],
    "checked_at": "2026-01-15T12:30:00Z",
    "verified_at": "2026-01-15T12:30:00Z",
    "failing_since": None,
    "next_check_at": "2026-01-16T12:30:00Z",
    "version": 2,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:30:00Z",
}


def domain_shape(view: DomainView) -> DomainShape:
    domain = view.domain
    return DomainShape(
        id=ids.show("dom", domain.id),
        name=domain.name,
        purposes=sorted(domain.purposes),
        state=domain.state,
        records=[
            DnsRecordView(
                type=one.type,
                name=one.name,
                value=one.value,
                purpose=one.purpose,
                check=one.check,
                required=one.required,
                found=one.found,
            )
            for one in view.records
        ],
        checks=[
            DomainCheckView(name=one.name, result=one.result, required=one.required, said=one.said)
            for one in domain.checks
        ],
        keys=[
            DkimKeyView(
                selector=key.selector,
                algorithm=key.algorithm,
                state=key.state,
                created_at=key.created_at,
                active_at=key.active_at,
                retired_until=key.retired_until,
            )
            for key in domain.keys
        ],
        checked_at=domain.checked_at,
        verified_at=domain.verified_at,
        failing_since=domain.failing_since,
        next_check_at=domain.next_check_at,
        version=domain.version,
        created_at=domain.created_at,
        updated_at=domain.updated_at,
    )
