"""What a browser sends: read within bounds, and only from our own pages."""

from typing import Final
from urllib.parse import parse_qsl, urlsplit

from litestar import Request
from litestar.datastructures import State

from waypost.console.visit import Fields
from waypost.kernel.errors import Conflict, Forbidden, MalformedRequest, Refused
from waypost.settings import Settings

AnyRequest = Request[None, None, State]
PROOF: Final = "proof"
_FORM: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 100


def read_fields(text: bytes) -> Fields:
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise MalformedRequest("What the browser sent cannot be read.", code="invalid_form") from None
    found: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        if "\x00" in value:
            raise MalformedRequest("Holds a character that cannot be stored.", code="unstorable_character")
        found[name] = (*found.get(name, ()), value)
    return found


async def read_form(request: AnyRequest) -> Fields:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise MalformedRequest("Send the form as a browser does.", code="invalid_form")
    return read_fields(await request.body())


def check_origin(request: AnyRequest, settings: Settings) -> None:
    """A form is taken from our own pages only. Every browser of today says where a POST comes from."""
    origin = request.headers.get("origin")
    ours = {request.headers.get("host", "")}
    if settings.public_url is not None:
        ours.add(urlsplit(settings.public_url).netloc)
    if origin is None:
        same = request.headers.get("sec-fetch-site") == "same-origin"
    else:
        same = urlsplit(origin).scheme in ("http", "https") and urlsplit(origin).netloc in ours
    if not same:
        raise Forbidden("This form was sent from another site.", code="foreign_form")


def by_field(refusal: Refused | Conflict, otherwise: str) -> dict[str, str]:
    """What is wrong, by the field it is about; the whole of it at one field where none is named."""
    found = {error.pointer.split("/")[1]: error.message for error in getattr(refusal, "errors", ())}
    return found or {otherwise: refusal.detail}
