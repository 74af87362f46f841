"""One visit through one page: who asks, whether the form is ours, then the use case in one transaction."""

from typing import Final
from urllib.parse import quote

from litestar.datastructures import Cookie
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from waypost.bootstrap import App
from waypost.console import preview
from waypost.console.cookies import AnyRequest, Cookies
from waypost.console.forms import PROOF, check_origin, read_fields, read_form
from waypost.console.rendering import Renderer
from waypost.console.surroundings import RequestRecord, Surroundings
from waypost.console.visit import Document, Fields, Page, Redirect, Shown, Unchanged, View, Visit
from waypost.kernel import ids
from waypost.kernel.errors import Forbidden, NotFound, RateLimited, Unauthenticated, Unavailable, WaypostError
from waypost.tenants.sessions import Session

SIGN_IN: Final = "/sign-in"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}
_APOLOGY: Final = WaypostError("Something broke on our side. The request id finds it in the log.")
_LONGEST_SEGMENT: Final = 256


class Door:
    def __init__(self, app: App, surroundings: Surroundings, renderer: Renderer) -> None:
        self._app = app
        self._around = surroundings
        self._renderer = renderer
        self.cookies = Cookies(app.settings)

    def handler_of(self, page: Page) -> HTTPRouteHandler:
        async def handle(request: AnyRequest) -> ASGIResponse:
            record = self._around.record_of(request.scope)
            token = self.cookies.session_of(request)
            if token is None:
                return self._ask_to_sign_in(request)
            session: Session | None = None
            try:
                session = await self._app.sessions.resume(token, record.request_id)
                return await self._serve(page, request, record, session, token)
            except Unauthenticated as refusal:
                record.code = refusal.code
                return self._ask_to_sign_in(request, self.cookies.drop_session(request))
            except Exception as error:
                return self.apologise(request, error, session)

        handle.__name__ = page.name
        return HTTPRouteHandler(
            page.path.replace("}", ":str}"), http_method=page.method, name=page.name, status_code=200
        )(handle)

    async def _serve(
        self, page: Page, request: AnyRequest, record: RequestRecord, session: Session, token: str
    ) -> ASGIResponse:
        scope = session.scope
        record.tenant = scope.tenant_id
        record.key_id = ids.show("key", scope.key_id)
        if page.permission is not None:
            scope.demand(page.permission)
        form: Fields = {}
        if page.method == "POST":
            check_origin(request, self._app.settings)
            form = await read_form(request)
            if not session.is_proved_by("".join(form.get(PROOF, ()))):
                raise Forbidden("This form is from another session. Load the page again.", code="foreign_form")
        query = read_fields(request.scope["query_string"])
        async with self._app.work.begin(scope.tenant_id) as tx:
            visit = Visit(
                app=self._app,
                session=session,
                tx=tx,
                path=_path_of(request),
                query=query,
                form=form,
                token=token,
            )
            shown = await page.run(visit)
        return self.answer(request, shown, session)

    def answer(
        self,
        request: AnyRequest,
        shown: Shown,
        session: Session | None,
        *cookies: Cookie,
        headers: dict[str, str] | None = None,
    ) -> ASGIResponse:
        match shown:
            case View():
                theme = self.cookies.theme_of(request)
                body = self._renderer.page(shown, session, theme=theme, path=request.url.path)
                return self._html(body, shown.status, *cookies, headers=headers)
            case Redirect():
                kept = [self.cookies.keep_session(request, shown.token)] if shown.token is not None else []
                return _redirect(shown.to, *cookies, *kept)
            case Document():
                return ASGIResponse(body=shown.body, media_type=shown.media_type, headers=preview.HEADERS)
            case Unchanged():
                return ASGIResponse(status_code=204, headers={"cache-control": "no-store"})

    def apologise(self, request: AnyRequest, error: Exception, session: Session | None) -> ASGIResponse:
        """A refusal as a page of its own, with what to do about it."""
        record = self._around.record_of(request.scope)
        refusal = error if isinstance(error, WaypostError) else _APOLOGY
        if refusal.status == WaypostError.status:
            self._around.log_unexpected(error, request.scope)
            refusal = _APOLOGY
        record.code = refusal.code
        shows = {"refusal": refusal, "request_id": record.request_id}
        headers: dict[str, str] = {}
        if isinstance(refusal, RateLimited):
            headers["retry-after"] = str(refusal.retry_after)
        elif isinstance(refusal, Unavailable):
            headers["retry-after"] = "1"
        view = View(template="refusal.html", shows=shows, status=refusal.status)
        return self.answer(request, view, session, headers=headers)

    def _html(self, body: str, status: int, *cookies: Cookie, headers: dict[str, str] | None = None) -> ASGIResponse:
        return ASGIResponse(
            body=body.encode(),
            status_code=status,
            media_type="text/html; charset=utf-8",
            headers={**_HEADERS, **(headers or {})},
            cookies=cookies,
        )

    def _ask_to_sign_in(self, request: AnyRequest, *cookies: Cookie) -> ASGIResponse:
        if request.headers.get("hx-request") == "true":
            # htmx follows redirects by itself and would put the sign-in page into a table.
            return ASGIResponse(status_code=401, headers={"hx-redirect": SIGN_IN, **_HEADERS}, cookies=cookies)
        wanted = request.url.path if request.method == "GET" else "/"
        return _redirect(SIGN_IN if wanted == "/" else f"{SIGN_IN}?next={quote(wanted, safe='/')}", *cookies)


def _path_of(request: AnyRequest) -> dict[str, str]:
    for value in request.path_params.values():
        if len(value) > _LONGEST_SEGMENT or not value.isprintable():
            raise NotFound("Nothing here has this id.")
    return dict(request.path_params)


def _redirect(to: str, *cookies: Cookie) -> ASGIResponse:
    return ASGIResponse(status_code=303, headers={"location": to, **_HEADERS}, cookies=cookies)
