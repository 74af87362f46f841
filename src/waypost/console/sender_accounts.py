"""From where mail leaves: accounts, what each has left today, and what stopped it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from waypost.console.forms import by_field
from waypost.console.sender_forms import account_form, read_account
from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.kernel import ids
from waypost.kernel.errors import Conflict, Refused
from waypost.kernel.tenancy import Permission
from waypost.senders.accounts import AccountView
from waypost.senders.connection import AccountKind, AuthMode
from waypost.senders.fields import AccountFields, fields_of
from waypost.senders.model import Day, ShownStatus
from waypost.senders.vendors import Trial
from waypost.senders.warmup import next_stage_on

_PAGE: Final = 50
_TONES: Final = {
    ShownStatus.ACTIVE: "good",
    ShownStatus.WARMING_UP: "calm",
    ShownStatus.PAUSED: "held",
    ShownStatus.SUSPENDED: "bad",
    ShownStatus.ARCHIVED: "calm",
}


@page("GET", "/senders", Permission.SENDERS_READ)
async def senders(visit: Visit) -> Shown:
    found = await visit.app.senders.accounts.page(visit.tx, visit.scope, visit.asked("cursor"), _PAGE)
    return View(template="senders.html", shows={"accounts": [_row(one) for one in found.items], "next": found.next})


@page("GET", "/senders/new", Permission.SENDERS_WRITE)
async def new_sender(visit: Visit) -> Shown:
    empty = AccountFields(kind=AccountKind.SMTP, name="", from_address="", auth=AuthMode.PLAIN)
    return account_form(empty, {}, account_id=None)


@page("POST", "/senders", Permission.SENDERS_WRITE)
async def create_sender(visit: Visit) -> Shown:
    kind = AccountKind.GMAIL if visit.given("kind") == "gmail" else AccountKind.SMTP
    base = AccountFields(kind=kind, name="", from_address="")
    changes, trouble = read_account(visit, base)
    fields = replace(base, **changes)
    if not trouble:
        try:
            made = await visit.app.senders.accounts.create(visit.tx, visit.scope, fields, visit.given("secret") or None)
            return Redirect(to=f"/senders/{ids.show('acc', made.account.id)}")
        except (Refused, Conflict) as refusal:
            trouble = by_field(refusal, "name")
    return account_form(fields, trouble, account_id=None, visit=visit)


@page("GET", "/senders/{id}", Permission.SENDERS_READ)
async def sender(visit: Visit) -> Shown:
    return await _show(visit)


@page("GET", "/senders/{id}/edit", Permission.SENDERS_WRITE)
async def edit_sender(visit: Visit) -> Shown:
    found = await visit.app.senders.accounts.get(visit.tx, visit.scope, visit.id("acc"))
    return account_form(fields_of(found.account), {}, account_id=ids.show("acc", found.account.id))


@page("POST", "/senders/{id}/edit", Permission.SENDERS_WRITE)
async def change_sender(visit: Visit) -> Shown:
    account_id = visit.id("acc")
    found = await visit.app.senders.accounts.get(visit.tx, visit.scope, account_id)
    before = fields_of(found.account)
    changes, trouble = read_account(visit, before)
    if not trouble:
        try:
            await visit.app.senders.accounts.change(
                visit.tx, visit.scope, account_id, changes, secret=visit.given("secret") or None
            )
            return _back(visit)
        except (Refused, Conflict) as refusal:
            trouble = by_field(refusal, "name")
    return account_form(replace(before, **changes), trouble, account_id=ids.show("acc", account_id), visit=visit)


@page("POST", "/senders/{id}/pause", Permission.SENDERS_WRITE)
async def pause_sender(visit: Visit) -> Shown:
    await visit.app.senders.accounts.pause(visit.tx, visit.scope, visit.id("acc"))
    return _back(visit)


@page("POST", "/senders/{id}/resume", Permission.SENDERS_WRITE)
async def resume_sender(visit: Visit) -> Shown:
    await visit.app.senders.accounts.resume(visit.tx, visit.scope, visit.id("acc"))
    return _back(visit)


@page("POST", "/senders/{id}/test", Permission.SENDERS_WRITE)
async def test_sender(visit: Visit) -> Shown:
    trial = await visit.app.senders.accounts.test(visit.tx, visit.scope, visit.id("acc"))
    return await _show(visit, trial)


@page("POST", "/senders/{id}/archive", Permission.SENDERS_WRITE)
async def archive_sender(visit: Visit) -> Shown:
    await visit.app.senders.accounts.archive(visit.tx, visit.scope, visit.id("acc"))
    return Redirect(to="/senders")


PAGES: Final[tuple[Page, ...]] = (
    senders,
    new_sender,
    create_sender,
    sender,
    edit_sender,
    change_sender,
    pause_sender,
    resume_sender,
    test_sender,
    archive_sender,
)


async def _show(visit: Visit, trial: Trial | None = None) -> View:
    found = await visit.app.senders.accounts.get(visit.tx, visit.scope, visit.id("acc"))
    days = await visit.app.senders.accounts.history(visit.tx, visit.scope, visit.id("acc"))
    account, warmup = found.account, found.account.warmup
    shows = {
        **_row(found),
        "account": account,
        "today": found.standing.today,
        "resets": found.next_reset,
        "next_send": found.next_send_at,
        "in_a_row": found.standing.state.consecutive_errors,
        "categories": [one.word for one in sorted(account.categories or ())],
        "stage": None if warmup is None else warmup.stage,
        "stages": 0 if warmup is None else len(warmup.schedule),
        "next_stage": None if warmup is None else next_stage_on(warmup),
        "paces": [
            {"provider": pace.provider, "rate": pace.rate, "taken": pace.taken, "slowed": pace.slowed_at,
             "limit": account.provider_limits.get(pace.provider)}
            for pace in found.paces
        ],
        "days": _days(days),
        "trial": trial,
    }  # fmt: skip
    return View(template="sender.html", shows=shows)


def _row(found: AccountView) -> dict[str, object]:
    account, used = found.account, found.standing.today.reserved
    return {
        "id": ids.show("acc", account.id),
        "name": account.name,
        "from": account.from_address,
        "status": account.shown_status.value,
        "reason": account.status_reason.value if account.status_reason else "",
        "tone": _TONES[account.shown_status],
        "full": found.limit_reached,
        "sent": found.standing.today.sent,
        "used": used,
        "limit": found.limit,
        "remaining": found.remaining,
    }


def _days(days: Sequence[Day]) -> list[dict[str, object]]:
    return [
        {"day": day.day.isoformat(), "sent": day.sent, "bounced": day.bounced, "errors": day.errors}
        for day in reversed(days)
    ]


def _back(visit: Visit) -> Redirect:
    return Redirect(to=f"/senders/{ids.show('acc', visit.id('acc'))}")
