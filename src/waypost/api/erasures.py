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


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_erasures, verify_erasure)
