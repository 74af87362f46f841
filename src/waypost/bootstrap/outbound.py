"""The one way out, as the settings allow it."""

from waypost.adapters.outbound.guard import Guard
from waypost.adapters.outbound.judgement import Judgement
from waypost.adapters.outbound.urls import WebhookUrls
from waypost.settings import Settings


def guard_of(settings: Settings) -> Guard:
    return Guard(Judgement(settings.outbound_allow))


def urls_of(settings: Settings, guard: Guard) -> WebhookUrls:
    return WebhookUrls(guard, plain_http=settings.webhook_http == "allow")
