"""Sender accounts: from where mail leaves, how much, how fast, and how each stands now."""

from typing import Final

from msgspec import UNSET

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.sender_account_shapes import (
    AccountQuery,
    Days,
    NewSenderAccount,
    SenderAccountChange,
    SenderAccountView,
    TrialView,
    changes_of,
    fields_of_new,
)
from waypost.api.sender_account_views import (
    ACCOUNT_BODY,
    ACCOUNT_EXAMPLE,
    TRIAL_EXAMPLE,
    account_view,
    day_view,
    trial_view,
)
from waypost.api.shapes import Listing, NoBody, NoQuery
from waypost.kernel.tenancy import Permission

_BAD_FIELDS: Final = (
    "domain_not_verified",
    "invalid",
    "invalid_address",
    "invalid_host",
    "invalid_name",
    "invalid_provider",
    "invalid_service_account",
    "not_taken",
    "out_of_range",
    "password_in_the_clear",
    "required",
    "secret_not_found",
    "secret_reference_refused",
    "too_long",
    "too_many",
)


@endpoint(
    "POST",
    "/v1/sender-accounts",
    Permission.SENDERS_WRITE,
    summary="Make a sender account",
    body=NewSenderAccount,
    answer=SenderAccountView,
    status=201,
    audited=True,
    refusals={409: ["name_taken", "too_many_accounts"], 422: _BAD_FIELDS},
    body_example=ACCOUNT_BODY,
    answer_example=ACCOUNT_EXAMPLE,
)
async def create_sender_account(call: Call[NewSenderAccount, NoQuery]) -> SenderAccountView:
    """Mail leaves by it from the next batch on. The secret is sealed and never shown again."""
    made = await call.app.senders.accounts.create(call.tx, call.scope, fields_of_new(call.body), call.body.secret)
    return account_view(made)


@endpoint(
    "GET",
    "/v1/sender-accounts",
    Permission.SENDERS_READ,
    summary="List sender accounts",
    query=AccountQuery,
    answer=Listing[SenderAccountView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [ACCOUNT_EXAMPLE], "next": None},
)
async def list_sender_accounts(call: Call[NoBody, AccountQuery]) -> Listing[SenderAccountView]:
    """Newest first, each as it stands now."""
    page = await call.app.senders.accounts.page(
        call.tx, call.scope, call.query.cursor, call.query.limit, archived=call.query.archived
    )
    return Listing(items=[account_view(one) for one in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/sender-accounts/{id}",
    Permission.SENDERS_READ,
    summary="Read a sender account",
    answer=SenderAccountView,
    versioned=True,
    answer_example=ACCOUNT_EXAMPLE,
)
async def read_sender_account(call: Call[NoBody, NoQuery]) -> Versioned:
    """What it has sent today, what remains, its stage, its pace with each mailbox provider, its health."""
    found = await call.app.senders.accounts.get(call.tx, call.scope, call.id("acc"))
    return Versioned(body=account_view(found), version=found.account.version)


@endpoint(
    "PATCH",
    "/v1/sender-accounts/{id}",
    Permission.SENDERS_WRITE,
    summary="Change a sender account",
    body=SenderAccountChange,
    answer=SenderAccountView,
    versioned=True,
    audited=True,
    refusals={409: ["account_archived", "name_taken"], 422: (*_BAD_FIELDS, "secret_needed")},
    body_example={"daily_limit": 8000, "provider_limits": {"gmail": 800}},
    answer_example=ACCOUNT_EXAMPLE,
)
async def change_sender_account(call: Call[SenderAccountChange, NoQuery]) -> Versioned:
    """Limits count from the next batch on. A new secret takes the place of the old one; it must be given again where
    the account is to enter another server or in another way."""
    secret = None if call.body.secret is UNSET else call.body.secret
    changed = await call.app.senders.accounts.change(
        call.tx,
        call.scope,
        call.id("acc"),
        changes_of(call.body),
        secret=secret,
        expected_version=call.expected_version,
    )
    return Versioned(body=account_view(changed), version=changed.account.version)


@endpoint(
    "DELETE",
    "/v1/sender-accounts/{id}",
    Permission.SENDERS_WRITE,
    summary="Archive a sender account",
    status=204,
    audited=True,
)
async def archive_sender_account(call: Call[NoBody, NoQuery]) -> None:
    """Nothing leaves by it any more, and its secret is destroyed. What it has sent still names it."""
    await call.app.senders.accounts.archive(call.tx, call.scope, call.id("acc"))


@endpoint(
    "POST",
    "/v1/sender-accounts/{id}/pause",
    Permission.SENDERS_WRITE,
    summary="Pause a sender account",
    answer=SenderAccountView,
    audited=True,
    refusals={409: ["account_archived"]},
    answer_example={**ACCOUNT_EXAMPLE, "status": "paused", "status_reason": "by_hand", "version": 2},
)
async def pause_sender_account(call: Call[NoBody, NoQuery]) -> SenderAccountView:
    """From the next batch on. Messages that can leave by no other account wait."""
    return account_view(await call.app.senders.accounts.pause(call.tx, call.scope, call.id("acc")))


@endpoint(
    "POST",
    "/v1/sender-accounts/{id}/resume",
    Permission.SENDERS_WRITE,
    summary="Resume a sender account",
    answer=SenderAccountView,
    audited=True,
    refusals={409: ["account_archived"]},
    answer_example={**ACCOUNT_EXAMPLE, "version": 3},
)
async def resume_sender_account(call: Call[NoBody, NoQuery]) -> SenderAccountView:
    """After a pause or a suspension. A warm-up goes on where it was."""
    return account_view(await call.app.senders.accounts.resume(call.tx, call.scope, call.id("acc")))


@endpoint(
    "POST",
    "/v1/sender-accounts/{id}/test",
    Permission.SENDERS_WRITE,
    summary="Try out a sender account",
    answer=TrialView,
    audited=True,
    refusals={409: ["account_archived"]},
    answer_example=TRIAL_EXAMPLE,
)
async def test_sender_account(call: Call[NoBody, NoQuery]) -> TrialView:
    """Enters the server with the account's secret and leaves at once. Nothing is sent."""
    return trial_view(await call.app.senders.accounts.test(call.tx, call.scope, call.id("acc")))


@endpoint(
    "GET",
    "/v1/sender-accounts/{id}/days",
    Permission.SENDERS_READ,
    summary="What a sender account sent, day by day",
    answer=Days,
    answer_example={
        "items": [{"day": "2026-01-15", "sent": 1200, "bounced": 3, "errors": 0, "deferred": 14}],
        "next": None,
    },
)
async def list_sender_account_days(call: Call[NoBody, NoQuery]) -> Days:
    """The last thirty days on which it sent anything, oldest first, in UTC."""
    return Days(
        items=[day_view(day) for day in await call.app.senders.accounts.history(call.tx, call.scope, call.id("acc"))]
    )


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_sender_account,
    list_sender_accounts,
    read_sender_account,
    change_sender_account,
    archive_sender_account,
    pause_sender_account,
    resume_sender_account,
    test_sender_account,
    list_sender_account_days,
)
