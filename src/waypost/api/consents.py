"""The history of a recipient's consent."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import ChannelWord, Listing, Moment, NoBody, NoQuery, PageQuery, Shape, ShownChannel
from waypost.kernel import ids
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CHANNELS
from waypost.notifications.consent import LONGEST_SOURCE, ConsentOrder
from waypost.preferences.model import Consent, ConsentState

StateWord = Literal["pending", "granted", "withdrawn"]


class NewConsent(Shape):
    state: Annotated[
        StateWord,
        Meta(description="`pending` sends a mail that asks; `withdrawn` does all that an unsubscribe does."),
    ]
    source: Annotated[str, Meta(max_length=LONGEST_SOURCE, description="Where it was said.", examples=["signup"])]
    channel: ChannelWord = "email"
    topic: Annotated[str, Meta(max_length=64, description="Null: all marketing.")] | None = None
    text_version: (
        Annotated[
            str, Meta(max_length=LONGEST_SOURCE, description="Which wording the person saw.", examples=["2026-11"])
        ]
        | None
    ) = None


class ConsentView(Shape):
    id: str
    n: Annotated[int, Meta(description="Its place in the history, from 1 on.")]
    channel: ShownChannel
    topic: str | None
    state: StateWord
    source: str
    text_version: str | None
    at: Moment
    proof: Annotated[str, Meta(description="Covers this row and the proof before it.")]


class HistoryCheck(Shape):
    intact: bool
    rows: int
    first_fault: Annotated[int, Meta(description="The first row that is not what was written.")] | None


_CONSENT: Final = {
    "id": "cns_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "n": 1,
    "channel": "email",
    "topic": "newsletter",
    "state": "granted",
    "source": "signup",
    "text_version": "2026-11",
    "at": "2026-01-15T12:00:00Z",
    "proof": "5f2b…",
}


@endpoint(
    "POST",
    "/v1/recipients/{id}/consents",
    Permission.RECIPIENTS_WRITE,
    summary="Record a consent",
    body=NewConsent,
    answer=ConsentView,
    status=201,
    audited=True,
    refusals={409: ["already_granted"], 422: ["unknown_topic", "unsupported_channel", "recipient_erased"]},
    body_example={
        "topic": "newsletter",
        "channel": "email",
        "state": "granted",
        "source": "signup",
        "text_version": "2026-11",
    },
    answer_example=_CONSENT,
)
async def record_consent(call: Call[NewConsent, NoQuery]) -> ConsentView:
    """Granting takes back the recipient's own opt-out, never a complaint. Answers the word that stands."""
    new = call.body
    order = ConsentOrder(
        channel=CHANNELS[new.channel],
        topic=new.topic,
        state=ConsentState(new.state),
        source=new.source,
        text_version=new.text_version,
    )
    return _consent(await call.app.wishes.consents.record(call.tx, call.scope, call.path["id"], order))


@endpoint(
    "GET",
    "/v1/recipients/{id}/consents",
    Permission.RECIPIENTS_READ,
    summary="List a recipient's consents",
    query=PageQuery,
    answer=Listing[ConsentView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_CONSENT], "next": None},
)
async def list_consents(call: Call[NoBody, PageQuery]) -> Listing[ConsentView]:
    """Every word that was said, newest first. The history cannot be changed."""
    page = await call.app.wishes.consents.page(
        call.tx, call.scope, call.path["id"], call.query.cursor, call.query.limit
    )
    return Listing(items=[_consent(consent) for consent in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/recipients/{id}/consents/verify",
    Permission.RECIPIENTS_READ,
    summary="Verify a recipient's consents",
    answer=HistoryCheck,
    answer_example={"intact": True, "rows": 3, "first_fault": None},
)
async def verify_consents(call: Call[NoBody, NoQuery]) -> HistoryCheck:
    """Whether every row, and their number, is as it was written: each proof covers the one before."""
    checked = await call.app.wishes.consents.check(call.tx, call.scope, call.path["id"])
    return HistoryCheck(intact=checked.first_fault is None, rows=checked.rows, first_fault=checked.first_fault)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (record_consent, list_consents, verify_consents)


def _consent(consent: Consent) -> ConsentView:
    state: StateWord = "granted"
    if consent.state is not ConsentState.GRANTED:
        state = "pending" if consent.state is ConsentState.PENDING else "withdrawn"
    return ConsentView(
        id=ids.show("cns", consent.id),
        n=consent.n,
        channel=consent.channel.word,
        topic=consent.topic or None,
        state=state,
        source=consent.source,
        text_version=consent.text_version,
        at=consent.at,
        proof=consent.proof.hex(),
    )
