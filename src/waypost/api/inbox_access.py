"""Who may read an inbox: recipients' tokens, the tenant's settings, and the proof of identity."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import Moment, NoBody, NoQuery, Shape
from waypost.inbox.model import InboxSettings
from waypost.inbox.rules import show_visible_since
from waypost.kernel.tenancy import Permission


class TokenQuery(Shape):
    expires_in: Annotated[str, Meta(description="From 1m to 24h; 1h unless said.", examples=["1h"])] | None = None


class TokenView(Shape):
    token: Annotated[str, Meta(description="The recipient's bearer token for `/v1/me`. Hand it to their browser.")]
    expires_at: Moment


class InboxSettingsView(Shape):
    ttl: Annotated[str, Meta(description="How long a message stays where nothing nearer says so.")]
    visible_since: Annotated[str, Meta(description="Posts for everyone that newcomers see: `joined`, `always`, `30d`.")]
    allowed_origins: Annotated[list[str], Meta(description="Sites whose pages may call for recipients.")]
    identity_secret: Annotated[bool, Meta(description="Whether an id may be proved by an HMAC.")]


class InboxSettingsChange(Shape):
    """What is left out stays as it is."""

    ttl: str | UnsetType = UNSET
    visible_since: str | UnsetType = UNSET
    allowed_origins: list[str] | UnsetType = UNSET


class SecretView(Shape):
    secret: Annotated[str, Meta(description="Shown this once. Keep it on your server.")]


_TOKEN: Final = {"token": "wpr_AQQAZ…", "expires_at": "2026-01-15T13:00:00Z"}
_SETTINGS: Final = {
    "ttl": "30d",
    "visible_since": "joined",
    "allowed_origins": ["https://app.example.com"],
    "identity_secret": False,
}


@endpoint(
    "POST",
    "/v1/recipients/{id}/token",
    Permission.RECIPIENTS_TOKEN,
    summary="Issue a recipient's token",
    query=TokenQuery,
    answer=TokenView,
    answer_example=_TOKEN,
)
async def issue_token(call: Call[NoBody, TokenQuery]) -> TokenView:
    """Short-lived, for this recipient's own inbox and preferences under `/v1/me`. Never put it into an address."""
    token, expires_at = await call.app.inbox.visitors.issue(call.tx, call.scope, call.path["id"], call.query.expires_in)
    return TokenView(token=token, expires_at=expires_at)


@endpoint(
    "DELETE",
    "/v1/recipients/{id}/token",
    Permission.RECIPIENTS_TOKEN,
    summary="End a recipient's tokens",
    status=204,
    audited=True,
)
async def end_tokens(call: Call[NoBody, NoQuery]) -> None:
    """All that were issued so far; open streams end within seconds."""
    await call.app.inbox.visitors.end_all(call.tx, call.scope, call.path["id"])


@endpoint(
    "GET",
    "/v1/inbox-settings",
    Permission.INBOX_READ,
    summary="Read what holds for all inboxes",
    answer=InboxSettingsView,
    answer_example=_SETTINGS,
)
async def get_inbox_settings(call: Call[NoBody, NoQuery]) -> InboxSettingsView:
    """How long messages stay, what newcomers see, which sites may call."""
    return _settings(await call.app.inbox.inboxes.settings(call.tx, call.scope))


@endpoint(
    "PATCH",
    "/v1/inbox-settings",
    Permission.INBOX_WRITE,
    summary="Change what holds for all inboxes",
    body=InboxSettingsChange,
    answer=InboxSettingsView,
    audited=True,
    refusals={422: ["invalid_origin", "invalid_ttl", "invalid_visible_since", "too_many"]},
    body_example={"allowed_origins": ["https://app.example.com"]},
    answer_example=_SETTINGS,
)
async def change_inbox_settings(call: Call[InboxSettingsChange, NoQuery]) -> InboxSettingsView:
    """`visible_since` counts for whoever opens an inbox for the first time."""
    body = call.body
    changed = await call.app.inbox.inboxes.change_settings(
        call.tx,
        call.scope,
        ttl=None if isinstance(body.ttl, UnsetType) else body.ttl,
        visible_since=None if isinstance(body.visible_since, UnsetType) else body.visible_since,
        allowed_origins=None if isinstance(body.allowed_origins, UnsetType) else body.allowed_origins,
    )
    return _settings(changed)


@endpoint(
    "POST",
    "/v1/inbox-settings/identity-secret",
    Permission.INBOX_WRITE,
    summary="Make an identity secret",
    answer=SecretView,
    status=201,
    audited=True,
    answer_example={"secret": "…64 hexadecimal digits, shown once…"},
)
async def make_identity_secret(call: Call[NoBody, NoQuery]) -> SecretView:
    """With it your server proves a recipient's id without asking us: see `POST /v1/me/token`. An older one is void."""
    return SecretView(secret=await call.app.inbox.visitors.new_identity_secret(call.tx, call.scope))


@endpoint(
    "DELETE",
    "/v1/inbox-settings/identity-secret",
    Permission.INBOX_WRITE,
    summary="Drop the identity secret",
    status=204,
    audited=True,
)
async def drop_identity_secret(call: Call[NoBody, NoQuery]) -> None:
    """Ids can no longer be proved by an HMAC; tokens already issued run out by themselves."""
    await call.app.inbox.visitors.drop_identity_secret(call.tx, call.scope)


@endpoint(
    "POST",
    "/v1/me/token",
    None,
    summary="Exchange a proved id for a token",
    answer=TokenView,
    caller="proof",
    answer_example=_TOKEN,
)
async def exchange_proof(call: Call[NoBody, NoQuery]) -> TokenView:
    """The bearer is `wph_` + base64url(tenant + line feed + recipient) + `.` + hex HMAC-SHA256 of the recipient's id
    under the identity secret. A token of `/v1/recipients/{id}/token` is the safer way: a proof does not run out."""
    token, expires_at = await call.app.inbox.visitors.issue_to(call.tx, call.me)
    return TokenView(token=token, expires_at=expires_at)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    issue_token,
    end_tokens,
    get_inbox_settings,
    change_inbox_settings,
    make_identity_secret,
    drop_identity_secret,
    exchange_proof,
)


def _settings(settings: InboxSettings) -> InboxSettingsView:
    return InboxSettingsView(
        ttl=settings.ttl,
        visible_since=show_visible_since(settings.visible_since),
        allowed_origins=list(settings.allowed_origins),
        identity_secret=settings.identity_secret is not None,
    )
