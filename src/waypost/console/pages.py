"""Every page of the console, as handlers for the process that serves it."""

from typing import Final

from litestar import Request
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from waypost.bootstrap import App
from waypost.console import (
    activity,
    domains,
    explain,
    inboxes,
    mailbox,
    notifications,
    operations,
    recipients,
    sender_accounts,
    suppression,
    templates,
    tenants,
    triggers,
    webhooks,
)
from waypost.console.assets import FOREVER, read_assets
from waypost.console.door import Door
from waypost.console.rendering import Renderer
from waypost.console.sign_in import sign_in_handlers
from waypost.console.surroundings import Surroundings
from waypost.console.visit import Page
from waypost.kernel.errors import NotFound

ALL_PAGES: Final[tuple[Page, ...]] = (
    *activity.PAGES,
    *notifications.PAGES,
    *recipients.PAGES,
    *templates.PAGES,
    *triggers.PAGES,
    *suppression.PAGES,
    *explain.PAGES,
    *domains.PAGES,
    *inboxes.PAGES,
    *operations.PAGES,
    *sender_accounts.PAGES,
    *webhooks.PAGES,
    *mailbox.PAGES,
    *tenants.PAGES,
)


def console_handlers(app: App, surroundings: Surroundings) -> list[HTTPRouteHandler]:
    assets = read_assets()
    renderer = Renderer(clock=app.clock, assets=assets, has_mailbox=app.mailbox is not None)
    door = Door(app, surroundings, renderer)
    served = {asset.name: asset for asset in assets.values()}

    async def asset(request: Request[None, None, State]) -> ASGIResponse:
        found = served.get(request.path_params["name"])
        if found is None:
            return door.apologise(request, NotFound("There is no such file."), None)
        headers = {"cache-control": FOREVER, "x-content-type-options": "nosniff"}
        return ASGIResponse(body=found.body, media_type=found.media_type, headers=headers)

    return [
        HTTPRouteHandler("/assets/{name:str}", http_method="GET", name="console_asset")(asset),
        *sign_in_handlers(app, surroundings, door),
        *(door.handler_of(page) for page in ALL_PAGES),
    ]
