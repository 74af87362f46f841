"""What the handlers of hosted pages share: who looks, how often, in which language, and what becomes of a refusal."""

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qsl

from litestar import Request
from litestar.datastructures import State
from litestar.response.base import ASGIResponse

from waypost.api.client_address import Origin
from waypost.api.hosted.pace import Pace
from waypost.api.hosted.pages import HEADERS, Pages
from waypost.api.hosted.words import WORDS, language_of
from waypost.api.request_log import log_unexpected
from waypost.api.request_record import record_of
from waypost.bootstrap import App
from waypost.kernel.errors import NotFound, RateLimited, WaypostError
from waypost.notifications.hosted import Holder

AnyRequest = Request[None, None, State]
_FORM: Final = "application/x-www-form-urlencoded"
_LONGEST_FORM: Final = 10_000
_MOST_FIELDS: Final = 20


class Lobby:
    """One for each process: it counts tries by link and by address."""

    def __init__(self, app: App, origin: Origin) -> None:
        self.app = app
        self.pages = Pages()
        self._origin = origin
        self._by_link = Pace(app.clock, times=30, seconds=60)
        self._bad_tries = Pace(app.clock, times=30, seconds=60)

    async def receive(self, request: AnyRequest, answer: Callable[[str], Awaitable[ASGIResponse]]) -> ASGIResponse:
        """A genuine link may be used often, not endlessly; who guesses links is slowed down by address."""
        text = request.path_params["token"]
        language = language_of(None, request.headers.get("accept-language"))
        record = record_of(request.scope)
        try:
            self._by_link.step(text[:500])
            return await answer(text)
        except NotFound as refusal:
            record.code = refusal.code
            return self._invalid(request, language)
        except RateLimited as refusal:
            record.code = refusal.code
            return self._busy(language, refusal)
        except Exception as error:
            log_unexpected(error, record)
            status = error.status if isinstance(error, WaypostError) else 500
            return self.pages.notice("broken", language, status=status if status >= 500 else 500)

    def language_of(self, request: AnyRequest, holder: Holder) -> str:
        return language_of(holder.locale, request.headers.get("accept-language"))

    def _invalid(self, request: AnyRequest, language: str) -> ASGIResponse:
        try:
            self._bad_tries.step(self._origin.of(request.scope))
        except RateLimited as refusal:
            return self._busy(language, refusal)
        return self.pages.notice("invalid", language, status=404)

    def _busy(self, language: str, refusal: RateLimited) -> ASGIResponse:
        page = self.pages.notice("busy", language, status=429)
        page.headers["retry-after"] = str(refusal.retry_after)
        return page


def about(holder: Holder, topic: str) -> str:
    """A topic as people call it; empty for all marketing."""
    if topic == "":
        return ""
    return holder.topic.title if holder.topic is not None and holder.topic.key == topic else topic


def shown(holder: Holder, language: str) -> dict[str, str]:
    return {"sender": holder.tenant_name, "address": holder.masked or WORDS[language]["this_address"]}


async def fields_of(request: AnyRequest) -> dict[str, str]:
    """What a form of ours says. One-click requests of mail programs need not say anything, in any form."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        return {}
    body = await request.body()
    if len(body) > _LONGEST_FORM:
        return {}
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return {}
    return dict(pairs)


def nothing() -> ASGIResponse:
    return ASGIResponse(status_code=200, headers=HEADERS, media_type="text/html")
