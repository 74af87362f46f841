"""The two cookies of the console: the session, and how bright the page is."""

from typing import Final, Literal

from litestar import Request
from litestar.datastructures import Cookie, State

from waypost.settings import Settings
from waypost.tenants.sessions import LASTS

AnyRequest = Request[None, None, State]
THEMES: Final = ("system", "light", "dark")
_THEME: Final = "waypost_theme"
_YEAR: Final = 365 * 24 * 3600
_SAME_SITE: Final[Literal["lax"]] = "lax"


class Cookies:
    """`Secure`, and bound to this very host by its name, wherever the browser came over https."""

    def __init__(self, settings: Settings) -> None:
        self._public_is_https = (settings.public_url or "").startswith("https://")

    def session_of(self, request: AnyRequest) -> str | None:
        return request.cookies.get(self._name(request))

    def theme_of(self, request: AnyRequest) -> str:
        theme = request.cookies.get(_THEME, "")
        return theme if theme in THEMES else THEMES[0]

    def keep_session(self, request: AnyRequest, token: str) -> Cookie:
        return self._session(request, token, int(LASTS.total_seconds()))

    def drop_session(self, request: AnyRequest) -> Cookie:
        return self._session(request, "", 0)

    def keep_theme(self, request: AnyRequest, theme: str) -> Cookie:
        return Cookie(
            key=_THEME,
            value=theme,
            max_age=_YEAR,
            path="/",
            httponly=True,
            samesite=_SAME_SITE,
            secure=self._is_https(request),
        )

    def _session(self, request: AnyRequest, value: str, max_age: int) -> Cookie:
        return Cookie(
            key=self._name(request),
            value=value,
            max_age=max_age,
            path="/",
            httponly=True,
            samesite=_SAME_SITE,
            secure=self._is_https(request),
        )

    def _name(self, request: AnyRequest) -> str:
        return "__Host-waypost_session" if self._is_https(request) else "waypost_session"

    def _is_https(self, request: AnyRequest) -> bool:
        return self._public_is_https or request.url.scheme == "https"
