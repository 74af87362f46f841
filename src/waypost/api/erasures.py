"""What is left of people who were erased: the certificates."""

from typing import Annotated, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.recipient_shapes import CERTIFICATE_EXAMPLE, CertificateShape, certificate_of, certificate_view
from waypost.api.shapes import Listing, NoBody, NoQuery, PageQuery, Shape
from waypost.kernel.tenancy import Permission


class CertificateQuestion(Shape):
    certificate: CertificateShape
    id: Annotated[str, Meta(max_length=128, description="Your id: is the certificate about this recipient?")] | None = (
        None
    )


class CertificateAnswer(Shape):
    genuine: Annotated[bool, Meta(description="Signed by this tenant's key, and not altered since.")]
    on_record: Annotated[bool, Meta(description="The erasure is in the records.")]
    about: Annotated[bool, Meta(description="It is about the id that was asked about.")] | None


class CertificatesAgain(Shape):
    certificates: Annotated[list[CertificateShape], Meta(min_length=1, max_length=100)]


class ReplayedView(Shape):
    erased: Annotated[int, Meta(description="How many were back, and are gone again.")]
    noted: Annotated[int, Meta(description="How many erasures were not on record any more.")]


@endpoint(
    "GET",
    "/v1/erasures",
    Permission.RECIPIENTS_READ,
    summary="List certificates of erasures",
    query=PageQuery,
    answer=Listing[CertificateShape],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [CERTIFICATE_EXAMPLE], "next": None},
)
async def list_erasures(call: Call[NoBody, PageQuery]) -> Listing[CertificateShape]:
    """Newest first."""
    page = await call.app.people.erase.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[certificate_view(one) for one in page.items], next=page.next)


@endpoint(
    "POST",
    "/v1/erasures/verify",
    Permission.RECIPIENTS_READ,
    summary="Verify a certificate of an erasure",
    body=CertificateQuestion,
    answer=CertificateAnswer,
    body_example={"certificate": CERTIFICATE_EXAMPLE, "id": "user-7"},
    answer_example={"genuine": True, "on_record": True, "about": True},
)
async def verify_erasure(call: Call[CertificateQuestion, NoQuery]) -> CertificateAnswer:
    """Changes nothing."""
    shown = certificate_of(call.body.certificate)
    checked = await call.app.people.erase.check(call.tx, call.scope, shown, call.body.id)
    return CertificateAnswer(genuine=checked.is_genuine, on_record=checked.is_on_record, about=checked.is_about)


@endpoint(
    "POST",
    "/v1/erasures/replay",
    Permission.RECIPIENTS_WRITE,
    summary="Erase again after a restore",
    body=CertificatesAgain,
    answer=ReplayedView,
    audited=True,
    refusals={422: ["not_genuine"]},
    body_example={"certificates": [CERTIFICATE_EXAMPLE]},
    answer_example={"erased": 1, "noted": 1},
)
async def replay_erasures(call: Call[CertificatesAgain, NoQuery]) -> ReplayedView:
    """For a database that was restored from a backup older than the certificates: whoever came back with it is erased
    again. A second time changes nothing. One certificate that is not genuine, and none is taken."""
    shown = [certificate_of(one) for one in call.body.certificates]
    replayed = await call.app.people.erase.replay(call.tx, call.scope, shown)
    return ReplayedView(erased=replayed.erased, noted=replayed.noted)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_erasures, verify_erasure, replay_erasures)
