"""`/u/{token}`: one click unsubscribes (RFC 8058), without login, cookie or redirect, years later too.

POST always acts. GET acts at once, with an undo, unless the tenant wants a question first or a machine seems to look.
HEAD never does anything.
"""

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from waypost.api.hosted.visitor import AnyRequest, Lobby, about, fields_of, nothing, shown
from waypost.preferences.scanner import is_machine

_PATH = "/u/{token:str}"


def unsubscribe_handlers(lobby: Lobby) -> list[HTTPRouteHandler]:
    hosted = lobby.app.wishes.hosted

    async def open_link(request: AnyRequest) -> ASGIResponse:
        async def answer(text: str) -> ASGIResponse:
            machine = is_machine({name.lower(): value for name, value in request.headers.items()})
            if machine or await hosted.asks_first(text):
                holder = await hosted.look(text)
                language = lobby.language_of(request, holder)
                topic = about(holder, holder.subject.topic)
                return lobby.pages.show("ask.html", language, {"about": topic, **shown(holder, language)})
            return await _stop(request, text, everything=False)

        return await lobby.receive(request, answer)

    async def act(request: AnyRequest) -> ASGIResponse:
        async def answer(text: str) -> ASGIResponse:
            fields = await fields_of(request)
            return await _stop(request, text, everything=fields.get("scope") == "all")

        return await lobby.receive(request, answer)

    async def look(request: AnyRequest) -> ASGIResponse:
        del request
        return nothing()

    async def _stop(request: AnyRequest, text: str, *, everything: bool) -> ASGIResponse:
        stopped = await hosted.unsubscribe(text, everything=everything)
        holder = stopped.holder
        language = lobby.language_of(request, holder)
        topic = "" if everything else about(holder, holder.subject.topic)
        return lobby.pages.show(
            "stopped.html",
            language,
            {
                "about": topic,
                "undo": stopped.undo,
                "stop_all": f"/u/{text}" if topic else None,
                "back": None,
                **shown(holder, language),
            },
        )

    return [
        HTTPRouteHandler(_PATH, http_method="GET", name="unsubscribe_link")(open_link),
        HTTPRouteHandler(_PATH, http_method="POST", name="unsubscribe", status_code=200)(act),
        HTTPRouteHandler(_PATH, http_method="HEAD", name="unsubscribe_head", status_code=200)(look),
    ]
