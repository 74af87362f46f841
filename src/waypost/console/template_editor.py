"""Writing a version, with its preview beside it. Everything works without scripts; with them, it is live."""

from dataclasses import replace
from typing import Final

from waypost.console import preview
from waypost.console.template_forms import (
    EditorFields,
    blank_fields,
    fields_of,
    read_fields,
    troubles_of,
    whom_of,
    written_of,
)
from waypost.console.visit import Document, Page, Redirect, Shown, View, Visit, page
from waypost.kernel.errors import NotFound, Refused
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CHANNELS, Channel
from waypost.templates.drafting import NewVersion
from waypost.templates.model import Direction, Format, Profile, Template, Written

_PATH: Final = "/templates/{key}/{channel}"


@page("GET", f"{_PATH}/edit", Permission.TEMPLATES_WRITE)
async def edit_template(visit: Visit) -> Shown:
    template = await _own(visit)
    fields = blank_fields(template.default_locale)
    key, channel = visit.path["key"], channel_of(visit)
    drafts = visit.app.templates.drafts
    wanted = visit.asked("from")
    if wanted is None:
        newest = (await drafts.page(visit.tx, visit.scope, key, channel, None, 1)).items
        wanted = newest[0].semver if newest else None
    if wanted is not None:
        _, version = await drafts.get(visit.tx, visit.scope, key, channel, wanted)
        fields = fields_of(version, template.default_locale)
    return _editor(template, fields)


@page("POST", f"{_PATH}/edit", Permission.TEMPLATES_WRITE)
async def save_template_draft(visit: Visit) -> Shown:
    """Stores a draft; or, with another button, only adds or drops a locale in the form."""
    template = await _own(visit)
    fields = read_fields(visit)
    if "save" not in visit.form:
        return _editor(template, fields)
    key, channel = visit.path["key"], channel_of(visit)
    try:
        new = NewVersion(written=await _written(visit, fields), semver=fields.semver.strip() or None)
        drafted = await visit.app.templates.drafts.add(visit.tx, visit.scope, key, channel, new)
    except Refused as refusal:
        return _editor(template, replace(fields, troubles=troubles_of(refusal)), status=refusal.status)
    return Redirect(to=f"/templates/{key}/{channel.word}/versions/{drafted.version.semver}")


@page("POST", f"{_PATH}/preview", Permission.TEMPLATES_READ)
async def preview_template_draft(visit: Visit) -> Shown:
    """What the form says now, as a document that can do nothing."""
    fields = read_fields(visit)
    try:
        shown = await visit.app.templates.preview.unsaved(
            visit.tx,
            visit.scope,
            visit.path["key"],
            channel_of(visit),
            await _written(visit, fields),
            whom_of(visit, fields),
        )
    except Refused as refusal:
        words = "\n".join(error.message for error in refusal.errors) or refusal.detail
        return Document(body=words.encode(), media_type="text/plain; charset=utf-8")
    return preview.document_of(shown.parts)


@page("POST", f"{_PATH}/check", Permission.TEMPLATES_READ)
async def check_template_draft(visit: Visit) -> Shown:
    """What stands above the preview: subject, preheader, and what should be mended."""
    fields = read_fields(visit)
    shown, troubles = None, list[str]()
    try:
        shown = await visit.app.templates.preview.unsaved(
            visit.tx, visit.scope, visit.path["key"], channel_of(visit), written_of(fields), whom_of(visit, fields)
        )
    except Refused as refusal:
        troubles = [f"{error.pointer} {error.message}".strip() for error in refusal.errors] or [refusal.detail]
    return View(template="template_check.html", shows={"shown": shown, "troubles": troubles})


PAGES: Final[tuple[Page, ...]] = (
    edit_template,
    save_template_draft,
    preview_template_draft,
    check_template_draft,
)


def channel_of(visit: Visit) -> Channel:
    channel = CHANNELS.get(visit.path["channel"])
    if channel is None:
        raise NotFound("There is no template of this key and channel.")
    return channel


async def _written(visit: Visit, fields: EditorFields) -> Written:
    """The form shows no files: those of the newest version go on."""
    drafts = visit.app.templates.drafts
    newest = (await drafts.page(visit.tx, visit.scope, visit.path["key"], channel_of(visit), None, 1)).items
    return replace(written_of(fields), files=newest[0].written.files if newest else ())


async def _own(visit: Visit) -> Template:
    template = await visit.app.templates.catalog.get(visit.tx, visit.scope, visit.path["key"], channel_of(visit))
    if template.owner != visit.scope.tenant_id:
        raise NotFound("The platform's templates are not yours to change. Make one of the same key to override it.")
    return template


def _editor(template: Template, fields: EditorFields, *, status: int = 200) -> View:
    unfit = () if template.channel is Channel.EMAIL else (Format.HTML, Format.MJML)
    shows = {
        "template": template,
        "fields": fields,
        "locales": list(fields.locales.items()),
        "formats": [each.value for each in Format if each not in unfit],
        "profiles": [each.value for each in Profile],
        "directions": [each.value for each in Direction],
        "troubles": dict(fields.troubles),
    }
    return View(template="template_edit.html", shows=shows, status=status)
