"""What is told of a content whose parts do nothing but print values: the values, as text and as markup."""

from collections.abc import Mapping

from waypost.adapters.render.dialect import JSON, MARKUP
from waypost.adapters.render.mail_slots import SlottedTemplate
from waypost.adapters.render.printed_values import PlainForms, PrintedValues
from waypost.adapters.render.recipes import PartsRecipe
from waypost.adapters.render.sheet import FillableSheet, Sheet, SheetPart
from waypost.templates.model import JsonObject


class PartSheet:
    def __init__(self, subject: SlottedTemplate | None, parts: Mapping[str, SlottedTemplate], most: int) -> None:
        paths = list(dict.fromkeys(path for part in parts.values() for path in part.printed))
        numbers = {path: 2 * number for number, path in enumerate(paths)}
        made = {
            name: SheetPart(part.literals, [numbers[path] + (name == MARKUP) for path in part.printed])
            for name, part in parts.items()
        }
        self.shown = Sheet(2 * len(paths), made.get(MARKUP), made["text"], made.get("preheader"))
        self.recipe = None if subject is None else PartsRecipe(subject.shown, paths)
        """None where the subject does more than the parts do."""
        self._values = PrintedValues(paths, PlainForms())
        self._filled = FillableSheet(self.shown)
        self._most = most

    @classmethod
    def of(cls, sources: Mapping[str, str], most: int) -> "PartSheet | None":
        """None where a part does more, or is none that can be filled: text that is read out of markup, or JSON."""
        if "text" not in sources or JSON in sources:
            return None
        parts = dict[str, SlottedTemplate]()
        for name, source in sources.items():
            if name == "subject":
                continue
            slots = SlottedTemplate.as_it_is(source)
            if slots is None:
                return None
            parts[name] = slots
        return cls(SlottedTemplate.as_it_is(sources["subject"]), parts, most)

    def values(self, context: JsonObject) -> list[str] | None:
        """None where the parts must be rendered, or may become too large."""
        values = self._values.of(context)
        return None if values is None or self._filled.most(values) > self._most else values
