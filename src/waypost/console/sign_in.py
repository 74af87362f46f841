"""Coming in, going out, and the light switch: what works without a session."""

import re
from typing import Final

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from waypost.bootstrap import App
from waypost.console.attempts import SignInAttempts
from waypost.console.cookies import THEMES, AnyRequest
from waypost.console.door import SIGN_IN, Door
from waypost.console.forms import check_origin, read_fields, read_form
from waypost.console.surroundings import Surroundings
from waypost.console.visit import Redirect, View
from waypost.kernel.errors import Forbidden, Unauthenticated, WaypostError

_OUR_PATH: Final = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,500}\Z")


def sign_in_handlers(app: App, surroundings: Surroundings, door: Door) -> list[HTTPRouteHandler]:
    attempts = SignInAttempts(app.clock)

    async def show_sign_in(request: AnyRequest) -> ASGIResponse:
        try:
            wanted = read_fields(request.scope["query_string"]).get("next", ("/",))[0]
        except WaypostError as refusal:
            return door.apologise(request, refusal, None)
        return door.answer(request, _view(our_path(wanted)), None)

    async def sign_in(request: AnyRequest) -> ASGIResponse:
        record = surroundings.record_of(request.scope)
        address = surroundings.address_of(request.scope)
        wanted = "/"
        try:
            check_origin(request, app.settings)
            form = await read_form(request)
            wanted = our_path("".join(form.get("next", ("/",))))
            attempts.check(address)
            opened = await app.sessions.open("".join(form.get("key", ())).strip(), record.request_id)
        except (Unauthenticated, Forbidden) as refusal:
            record.code = refusal.code
            if isinstance(refusal, Unauthenticated):
                attempts.note_failure(address)
                return door.answer(request, _view(wanted, trouble="This key is unknown, expired or revoked."), None)
            return door.answer(request, _view(wanted, trouble=refusal.detail, status=refusal.status), None)
        except Exception as error:
            return door.apologise(request, error, None)
        return door.answer(request, Redirect(to=wanted, token=opened.token), None)

    async def sign_out(request: AnyRequest) -> ASGIResponse:
        try:
            check_origin(request, app.settings)
        except WaypostError as refusal:
            return door.apologise(request, refusal, None)
        return door.answer(request, Redirect(to=SIGN_IN), None, door.cookies.drop_session(request))

    async def switch_theme(request: AnyRequest) -> ASGIResponse:
        try:
            check_origin(request, app.settings)
            form = await read_form(request)
        except WaypostError as refusal:
            return door.apologise(request, refusal, None)
        theme = "".join(form.get("theme", ()))
        kept = [door.cookies.keep_theme(request, theme)] if theme in THEMES else []
        return door.answer(request, Redirect(to=our_path("".join(form.get("back", ("/",))))), None, *kept)

    return [
        HTTPRouteHandler(SIGN_IN, http_method="GET", name="console_sign_in", status_code=200)(show_sign_in),
        HTTPRouteHandler(SIGN_IN, http_method="POST", name="console_signed_in", status_code=200)(sign_in),
        HTTPRouteHandler("/sign-out", http_method="POST", name="console_sign_out", status_code=200)(sign_out),
        HTTPRouteHandler("/theme", http_method="POST", name="console_theme", status_code=200)(switch_theme),
    ]


def our_path(text: str) -> str:
    """A path of ours to go on to; the first page where it is anything else."""
    return text if _OUR_PATH.match(text) else "/"


def _view(wanted: str, *, trouble: str = "", status: int | None = None) -> View:
    return View(
        template="sign_in.html",
        shows={"next": wanted, "trouble": trouble},
        status=status or (401 if trouble else 200),
    )
