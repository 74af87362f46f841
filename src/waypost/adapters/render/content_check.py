"""What is wrong with a content before any variable is known: size, syntax, and whether a mail can be made of it."""

from collections.abc import Callable

import minijinja

from waypost.adapters.render.engine import RenderRefused, make_environment, mentioned_names, refusal_of
from waypost.adapters.render.mail_compose import compile_mail
from waypost.adapters.render.rendition import PARTS, content_of, refuse_trouble
from waypost.adapters.render.wire import Fault, Parts


def check_content(content: Parts, begin_item: Callable[[int], object]) -> tuple[list[Fault], list[str]]:
    """Faults by pointer, and the top-level names the content reads. `begin_item` is told which part comes next."""
    faults: list[Fault] = []
    mentioned: set[str] = set()
    for index, part in enumerate(PARTS):
        source: str | None = getattr(content, part)
        if source is None:
            continue
        begin_item(index)
        try:
            refuse_trouble(part, source)
            mentioned |= _names_in(part, source)
        except RenderRefused as refused:
            faults.append(_fault(refused))
    if not faults:
        begin_item(len(PARTS))
        try:
            compile_mail(make_environment(), content_of(content))
        except RenderRefused as refused:
            faults.append(_fault(refused))
    return faults, sorted(mentioned)


def _names_in(part: str, source: str) -> frozenset[str]:
    try:
        return mentioned_names(make_environment(), source)
    except minijinja.TemplateError as error:
        raise refusal_of(error, part=part, source=source, context={}) from None


def _fault(refused: RenderRefused) -> Fault:
    return Fault(refused.pointer, refused.code, refused.message)
