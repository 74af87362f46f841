"""What is wrong with a content before any variable is known: size, syntax, and whether a mail can be made of it."""

from collections.abc import Callable

from waypost.adapters.render.mail_compose import compile_mail
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.rendition import dialect_of, refuse_trouble, sources_of
from waypost.adapters.render.speech import Speech
from waypost.adapters.render.wire import PARTS, Fault, Parts


def check_content(
    content: Parts, begin_item: Callable[[int], object], speech: Speech, most_bytes: int
) -> tuple[list[Fault], frozenset[str]]:
    """Faults by pointer, and what the content reads. `begin_item` is told which part comes next."""
    faults: list[Fault] = []
    mentioned: set[str] = set()
    sources = sources_of(content)
    for index, part in enumerate(PARTS):
        source = sources.get(part)
        if source is None:
            continue
        begin_item(index)
        try:
            refuse_trouble(part, source, content.profile, most_bytes)
            dialect = dialect_of(content.profile, speech)
            mentioned |= dialect.names(part, source)
            dialect.refuse_unknown_calls(part, source)
            if part == "json":
                dialect.template(part, source)
        except RenderRefused as refused:
            faults.append(_fault(refused))
    if not faults:
        begin_item(len(PARTS))
        try:
            compile_mail(dialect_of(content.profile, speech), content)
        except RenderRefused as refused:
            faults.append(_fault(refused))
    return faults, frozenset(mentioned)


def _fault(refused: RenderRefused) -> Fault:
    return Fault(refused.pointer, refused.code, refused.message)
