"""Templates: all of them, one with its versions, one version, two compared."""

from typing import Final

from waypost.console import preview, template_editor
from waypost.console.template_editor import channel_of
from waypost.console.visit import Document, Page, Redirect, Shown, View, Visit, page
from waypost.kernel.errors import Conflict, NotFound, Refused
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, Category, Channel
from waypost.templates.catalog import NewTemplate
from waypost.templates.lint import Finding
from waypost.templates.model import TemplateKind
from waypost.templates.preview import For

_PAGE: Final = 50
_PATH: Final = "/templates/{key}/{channel}"
_ONE: Final = f"{_PATH}/versions/{{semver}}"


@page("GET", "/templates", Permission.TEMPLATES_READ)
async def templates(visit: Visit) -> Shown:
    owner = "platform" if visit.asked("owner") == "platform" else "tenant"
    found = await visit.app.templates.catalog.page(
        visit.tx, visit.scope, visit.asked("cursor"), _PAGE, platforms=owner == "platform"
    )
    shows = {"templates": found.items, "next": found.next, "owner": owner}
    return View(template="templates.html", shows=shows)


@page("GET", "/templates/new", Permission.TEMPLATES_WRITE)
async def new_template(visit: Visit) -> Shown:
    return _form({"key": visit.asked("key") or "", "default_locale": "en"})


@page("POST", "/templates", Permission.TEMPLATES_WRITE)
async def create_template(visit: Visit) -> Shown:
    names = ("key", "name", "channel", "category", "kind", "topic", "default_locale")
    given = {name: visit.given(name) for name in names}
    new = NewTemplate(
        key=given["key"],
        channel=CHANNELS.get(given["channel"], Channel.EMAIL),
        category=CATEGORIES.get(given["category"], Category.TRANSACTIONAL),
        kind=TemplateKind(given["kind"]) if given["kind"] in set(TemplateKind) else TemplateKind.MESSAGE,
        topic=given["topic"] or None,
        default_locale=given["default_locale"] or "en",
        name=given["name"] or None,
    )
    try:
        made = await visit.app.templates.catalog.create(visit.tx, visit.scope, new)
    except Refused as refusal:
        troubles = {error.pointer.strip("/"): error.message for error in refusal.errors}
        return _form(given, troubles, status=refusal.status)
    except Conflict as conflict:
        return _form(given, {"key": conflict.detail}, status=conflict.status)
    return Redirect(to=f"/templates/{made.key}/{made.channel.word}/edit")


@page("GET", _PATH, Permission.TEMPLATES_READ)
async def template(visit: Visit) -> Shown:
    key, channel = visit.path["key"], channel_of(visit)
    found = await visit.app.templates.catalog.get(visit.tx, visit.scope, key, channel)
    versions = await visit.app.templates.drafts.page(visit.tx, visit.scope, key, channel, visit.asked("cursor"), _PAGE)
    shows = {
        "template": found,
        "is_own": found.owner == visit.scope.tenant_id,
        "versions": versions.items,
        "next": versions.next,
        "newest": versions.items[0].semver if versions.items else "",
        "active": next((one.semver for one in versions.items if one.state == "active"), ""),
    }
    return View(template="template.html", shows=shows)


@page("GET", _ONE, Permission.TEMPLATES_READ)
async def template_version(visit: Visit) -> Shown:
    key, channel, semver = visit.path["key"], channel_of(visit), visit.path["semver"]
    drafts = visit.app.templates.drafts
    found, one = await drafts.get(visit.tx, visit.scope, key, channel, semver)
    findings, trouble = list[Finding](), ""
    try:
        findings = await drafts.lint(visit.tx, visit.scope, key, channel, semver)
    except Refused as refusal:
        trouble = refusal.detail
    locale = visit.asked("locale") or found.default_locale
    if locale not in one.written.locales:
        locale = min(one.written.locales)
    shows = {
        "template": found,
        "is_own": found.owner == visit.scope.tenant_id,
        "version": one,
        "locale": locale,
        "locales": sorted(one.written.locales),
        "source": one.written.locales[locale],
        "findings": findings,
        "trouble": trouble,
    }
    return View(template="template_version.html", shows=shows)


@page("GET", f"{_ONE}/preview", Permission.TEMPLATES_READ)
async def template_version_preview(visit: Visit) -> Shown:
    try:
        shown = await visit.app.templates.preview.stored(
            visit.tx,
            visit.scope,
            visit.path["key"],
            channel_of(visit),
            visit.path["semver"],
            For(locale=visit.asked("locale")),
        )
    except Refused as refusal:
        words = f"It cannot be shown without sample variables.\n\n{refusal.detail}"
        return Document(body=words.encode(), media_type="text/plain; charset=utf-8")
    return preview.document_of(shown.parts)


@page("POST", f"{_ONE}/publish", Permission.TEMPLATES_WRITE)
async def publish_template_version(visit: Visit) -> Shown:
    await visit.app.templates.publish(visit.tx, visit.scope, visit.path["key"], channel_of(visit), visit.path["semver"])
    return _back(visit)


@page("POST", f"{_ONE}/archive", Permission.TEMPLATES_WRITE)
async def archive_template_version(visit: Visit) -> Shown:
    await visit.app.templates.drafts.archive(
        visit.tx, visit.scope, visit.path["key"], channel_of(visit), visit.path["semver"]
    )
    return _back(visit)


@page("POST", f"{_ONE}/approve", Permission.TEMPLATES_APPROVE)
async def approve_template_version(visit: Visit) -> Shown:
    semver = visit.path["semver"]
    await visit.app.templates.drafts.approve(
        visit.tx, visit.scope, visit.path["key"], channel_of(visit), semver, approver=visit.given("approver")
    )
    return Redirect(to=f"/templates/{visit.path['key']}/{visit.path['channel']}/versions/{semver}")


@page("GET", f"{_PATH}/diff", Permission.TEMPLATES_READ)
async def template_diff(visit: Visit) -> Shown:
    key, channel = visit.path["key"], channel_of(visit)
    found = await visit.app.templates.catalog.get(visit.tx, visit.scope, key, channel)
    before, after = visit.asked("from"), visit.asked("to")
    if before is None or after is None:
        raise NotFound("Name two versions to compare.")
    compared = await visit.app.templates.drafts.compare(visit.tx, visit.scope, key, channel, before, after)
    return View(template="template_diff.html", shows={"template": found, "compared": compared})


PAGES: Final[tuple[Page, ...]] = (
    templates,
    new_template,
    create_template,
    template,
    template_version,
    template_version_preview,
    publish_template_version,
    archive_template_version,
    approve_template_version,
    template_diff,
    *template_editor.PAGES,
)


def _back(visit: Visit) -> Redirect:
    return Redirect(to=f"/templates/{visit.path['key']}/{visit.path['channel']}")


def _form(given: dict[str, str], troubles: dict[str, str] | None = None, *, status: int = 200) -> View:
    names = ("key", "name", "channel", "category", "kind", "topic", "default_locale")
    shows = {
        "given": {name: given.get(name, "") for name in names},
        "troubles": {name: (troubles or {}).get(name, "") for name in names},
        "channels": list(CHANNELS),
        "categories": list(CATEGORIES),
        "kinds": [kind.value for kind in TemplateKind],
    }
    return View(template="template_new.html", shows=shows, status=status)
