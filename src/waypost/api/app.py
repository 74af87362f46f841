"""The ASGI application: the router, behind the limits, behind the log."""

from typing import Final

from litestar import Litestar, Request
from litestar.datastructures import State
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.response import Response
from litestar.types import ASGIApp
from prometheus_client import CollectorRegistry

from waypost.api import (
    alerts,
    channels,
    consents,
    domains,
    erasures,
    events,
    explain,
    exports,
    imports,
    inbox,
    inbox_access,
    inbox_posts,
    jobs,
    lists,
    mailbox,
    me,
    me_preferences,
    notifications,
    operations,
    preferences,
    recipient_addresses,
    recipients,
    seen,
    sender_accounts,
    settings_limits,
    suppression,
    template_trials,
    template_versions,
    templates,
    tenants,
    timers,
    topics,
    triggers,
    webhooks,
)
from waypost.api.client_address import Origin
from waypost.api.doors import StraightDoor, handler_of
from waypost.api.element import element_handlers
from waypost.api.endpoint import Endpoint
from waypost.api.head_door import HeadDoor
from waypost.api.health import options_handlers, public_handlers
from waypost.api.hosted.visitor import Lobby
from waypost.api.http_errors import MethodNotAllowed
from waypost.api.limits import Limited, Limits
from waypost.api.metrics import HttpMetrics
from waypost.api.preference_centre import hosted_handlers
from waypost.api.problem import MEDIA_TYPE, answer_of
from waypost.api.request_log import RequestLog, log_unexpected
from waypost.api.request_record import record_of
from waypost.api.tracking import TrackingDoor
from waypost.bootstrap import App
from waypost.console.pages import console_handlers
from waypost.console.surroundings import Surroundings
from waypost.kernel.errors import MalformedRequest, NotFound, WaypostError

ALL_ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    *notifications.ENDPOINTS,
    *seen.ENDPOINTS,
    *events.ENDPOINTS,
    *triggers.ENDPOINTS,
    *timers.ENDPOINTS,
    *recipients.ENDPOINTS,
    *recipient_addresses.ENDPOINTS,
    *erasures.ENDPOINTS,
    *lists.ENDPOINTS,
    *jobs.ENDPOINTS,
    *imports.ENDPOINTS,
    *exports.ENDPOINTS,
    *templates.ENDPOINTS,
    *template_versions.ENDPOINTS,
    *template_trials.ENDPOINTS,
    *topics.ENDPOINTS,
    *preferences.ENDPOINTS,
    *consents.ENDPOINTS,
    *explain.ENDPOINTS,
    *suppression.ENDPOINTS,
    *settings_limits.ENDPOINTS,
    *tenants.ENDPOINTS,
    *channels.ENDPOINTS,
    *sender_accounts.ENDPOINTS,
    *domains.ENDPOINTS,
    *webhooks.ENDPOINTS,
    *operations.ENDPOINTS,
    *alerts.ENDPOINTS,
    *inbox.ENDPOINTS,
    *inbox_posts.ENDPOINTS,
    *inbox_access.ENDPOINTS,
    *me.ENDPOINTS,
    *me_preferences.ENDPOINTS,
    *mailbox.ENDPOINTS,
)


def create_app(app: App, *, limits: Limits | None = None, registry: CollectorRegistry | None = None) -> ASGIApp:
    absent = () if app.mailbox is not None else mailbox.ENDPOINTS
    endpoints = [endpoint for endpoint in ALL_ENDPOINTS if endpoint not in absent]
    origin = Origin(app.settings.trusted_proxies)
    router = Litestar(
        [
            # These come first: where one is there, Litestar does not make its own.
            *options_handlers(endpoints),
            *public_handlers(app, endpoints),
            *element_handlers(),
            *(handler_of(endpoint, app) for endpoint in endpoints),
            *hosted_handlers(Lobby(app, origin)),
            *console_handlers(app, _surroundings(origin)),
        ],
        openapi_config=None,
        exception_handlers={HTTPException: _refuse, Exception: _apologise},
        logging_config=None,
        # `limits.py` has bounded the body already, on every route.
        request_max_body_size=None,
    )
    metrics = HttpMetrics(registry or CollectorRegistry())
    chosen = limits or Limits(per_address=app.settings.requests_per_address, per_key=app.settings.requests_per_key)
    bulk_paths = frozenset(endpoint.path for endpoint in endpoints if endpoint.is_bulk)
    wide_paths = frozenset(endpoint.path for endpoint in endpoints if endpoint.wide)
    file_paths = frozenset(endpoint.path for endpoint in endpoints if endpoint.is_upload)
    limited = Limited(
        TrackingDoor(HeadDoor(StraightDoor(router, app, endpoints)), app, origin),
        limits=chosen,
        origin=origin,
        metrics=metrics,
        bulk_paths=bulk_paths,
        wide_paths=wide_paths,
        file_paths=file_paths,
    )
    logged = RequestLog(limited, clock=app.clock, metrics=metrics)
    if app.tracer is None:
        return logged
    from waypost.api.traces import Traced

    return Traced(logged, app.tracer)


def _surroundings(origin: Origin) -> Surroundings:
    return Surroundings(
        record_of=record_of,
        address_of=origin.of,
        log_unexpected=lambda error, scope: log_unexpected(error, record_of(scope)),
    )


def _refuse(request: Request[None, None, State], refusal: HTTPException) -> Response[bytes]:
    """What the router itself refuses, in our shape."""
    if isinstance(refusal, NotFoundException):
        return _answer(request, NotFound("There is no such path.", code="no_such_path"))
    if isinstance(refusal, MethodNotAllowedException):
        return _answer(request, MethodNotAllowed((refusal.headers or {}).get("allow", "")))
    if refusal.status_code < 500:
        return _answer(request, MalformedRequest("The request cannot be read."))
    return _apologise(request, refusal)


def _apologise(request: Request[None, None, State], unexpected: Exception) -> Response[bytes]:
    log_unexpected(unexpected, record_of(request.scope))
    return _answer(request, WaypostError("Unexpected."))


def _answer(request: Request[None, None, State], refusal: WaypostError) -> Response[bytes]:
    record = record_of(request.scope)
    answer = answer_of(refusal, record.request_id)
    record.code = answer.code
    return Response(answer.body, status_code=answer.status, headers=dict(answer.headers), media_type=MEDIA_TYPE)
