"""`/p/{token}`: what somebody gets, to turn off piece by piece; and the fresh links that turn something on.

Opening a link never changes anything here. An old link can only lessen contact: whoever wants more is sent a fresh one.
"""

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from waypost.api.hosted.pages import style_handler
from waypost.api.hosted.visitor import AnyRequest, Lobby, about, fields_of, nothing, shown
from waypost.api.hosted.words import WORDS
from waypost.api.request_record import record_of
from waypost.api.unsubscribe import unsubscribe_handlers
from waypost.kernel import tokens
from waypost.kernel.tokens import Purpose
from waypost.kernel.vocabulary import Channel
from waypost.notifications.hosted import Centre, Holder

_PATH = "/p/{token:str}"


def hosted_handlers(lobby: Lobby) -> list[HTTPRouteHandler]:
    hosted = lobby.app.wishes.hosted

    async def open_link(request: AnyRequest) -> ASGIResponse:
        async def answer(text: str) -> ASGIResponse:
            if not _is_fresh(text):
                centre = await hosted.centre(text)
                return _centre(lobby, lobby.language_of(request, centre.holder), centre)
            holder, _ = await hosted.look_at_answer(text)
            language = lobby.language_of(request, holder)
            return lobby.pages.show(
                "confirm.html", language, {"about": _named(holder, language), **shown(holder, language)}
            )

        return await lobby.receive(request, answer)

    async def act(request: AnyRequest) -> ASGIResponse:
        async def answer(text: str) -> ASGIResponse:
            if _is_fresh(text):
                return await confirm(request, text)
            fields = await fields_of(request)
            if "ask" in fields:
                holder = await hosted.ask(text, fields["ask"], record_of(request.scope).request_id)
                language = lobby.language_of(request, holder)
                return lobby.pages.show("asked.html", language, {"back": f"/p/{text}", **shown(holder, language)})
            if "stop" not in fields:
                centre = await hosted.centre(text)
                return _centre(lobby, lobby.language_of(request, centre.holder), centre)
            return await stop(request, text, fields["stop"])

        return await lobby.receive(request, answer)

    async def confirm(request: AnyRequest, text: str) -> ASGIResponse:
        holder, done = await hosted.answer(text)
        language = lobby.language_of(request, holder)
        if not done:
            return lobby.pages.notice("stale", language, status=410)
        return lobby.pages.show(
            "confirmed.html", language, {"about": _named(holder, language), **shown(holder, language)}
        )

    async def stop(request: AnyRequest, text: str, topic: str) -> ASGIResponse:
        stopped = await hosted.stop(text, topic)
        language = lobby.language_of(request, stopped.holder)
        title = stopped.topic.title if stopped.topic else ""
        return lobby.pages.show(
            "stopped.html",
            language,
            {
                "about": title,
                "undo": stopped.undo,
                "stop_all": None,
                "back": f"/p/{text}",
                **shown(stopped.holder, language),
            },
        )

    async def look(request: AnyRequest) -> ASGIResponse:
        del request
        return nothing()

    return [
        *unsubscribe_handlers(lobby),
        HTTPRouteHandler(_PATH, http_method="GET", name="preference_centre")(open_link),
        HTTPRouteHandler(_PATH, http_method="POST", name="preference_centre_act", status_code=200)(act),
        HTTPRouteHandler(_PATH, http_method="HEAD", name="preference_centre_head", status_code=200)(look),
        style_handler(),
    ]


def _is_fresh(text: str) -> bool:
    """What it says it is; whether it is, the use case finds out."""
    claim = tokens.read(text)
    return claim is not None and claim.token.purpose is Purpose.OPT_IN


def _named(holder: Holder, language: str) -> str:
    return about(holder, holder.subject.topic) or WORDS[language]["all_marketing"]


def _centre(lobby: Lobby, language: str, centre: Centre) -> ASGIResponse:
    words = WORDS[language]
    rows = [
        {
            "key": row.topic.key,
            "title": row.topic.title,
            "description": row.topic.description,
            "mandatory": row.topic.mandatory,
            "on": row.on,
            "turn_off": f"{words['turn_off']}: {row.topic.title}",
            "want": f"{words['want']}: {row.topic.title}",
        }
        for row in centre.rows
    ]
    return lobby.pages.show(
        "centre.html",
        language,
        {
            "rows": rows,
            "marketing_on": centre.marketing_on,
            "may_ask": centre.holder.subject.channel is Channel.EMAIL,
            **shown(centre.holder, language),
        },
    )
