"""The two template languages, as rendering sees them."""

from typing import Protocol

from waypost.templates.model import JsonObject

JSON: str = "json"
MARKUP: str = "html"


class PartTemplate(Protocol):
    def render(self, context: JsonObject) -> str:
        """Raises `RenderRefused`."""
        ...


class Dialect(Protocol):
    """Compiles the parts of one content. Escaping follows the part (`html`, `json`, anything else), nothing else."""

    def template(self, part: str, source: str) -> PartTemplate:
        """Raises `RenderRefused` where the source is none."""
        ...

    def names(self, part: str, source: str) -> frozenset[str]:
        """What the source reads (`mentions`). Raises `RenderRefused` where the source is none."""
        ...

    def refuse_unknown_calls(self, part: str, source: str) -> None:
        """Raises `RenderRefused` where a whole source, with all it includes, calls what is not there."""
        ...
