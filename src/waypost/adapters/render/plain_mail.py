"""Messages of a content that does nothing but print values, made without asking a child.

No template is read here: what the author wrote is in the skeleton, encoded by a child, and the recipe says which values
of the context go where. Whatever is not plain, a value, a header, files, is left to the child, which knows what it
means or how to refuse it.
"""

from waypost.adapters.render.link_words import LINK_WORDS, LinkWords
from waypost.adapters.render.mail_head import HeadLines, subject_line
from waypost.adapters.render.mail_skeleton import SaidValues
from waypost.adapters.render.mail_slots import SlottedTemplate
from waypost.adapters.render.recipes import MailRecipe, PlainTemplate
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.skeleton import Frame, Untrue
from waypost.templates.model import JsonObject
from waypost.templates.ports import RenderJob


class PlainMail:
    def __init__(self, frame: Frame, recipe: MailRecipe, link_key: bytes | None) -> None:
        """Raises `Untrue`. The key signs the words of links (`Instrument.key`)."""
        values = 2 * len(recipe.printed)
        if frame.said != 1 + values + len(recipe.ends) or not all(0 < each <= values for each in recipe.ends):
            raise Untrue
        self._frame = frame
        self._head = HeadLines()
        self._subject = slotted(recipe.subject)
        self._values = SaidValues(recipe.printed, recipe.ends)
        self._words = LinkWords(link_key or b"", recipe.words) if recipe.words else None
        self.size = frame.literal_bytes

    def made(self, job: RenderJob) -> bytes | None:
        context, head = job.context, job.head
        if head is None or head.has_files or head.has_images:
            return None
        try:
            subject = self._subject.fill_plain(context)
            values = self._said(context)
            if subject is None or values is None:
                return None
            values.insert(0, self._head.of(head, subject_line(subject)))
            return self._frame.filled_with(values)
        except (RenderRefused, UnicodeEncodeError, Untrue):
            return None

    def _said(self, context: JsonObject) -> list[str] | None:
        if self._words is not None:
            words = self._words.of(context)
            if words is None:
                return None
            context = {**context, LINK_WORDS: words}
        return self._values.of(context)


def slotted(template: PlainTemplate) -> SlottedTemplate:
    """Raises `Untrue`."""
    if len(template.literals) != len(template.printed) + 1 or not all(template.printed):
        raise Untrue
    return SlottedTemplate(template.literals, template.printed)
