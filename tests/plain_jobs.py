"""Jobs for the renderer, of no matter which content."""

from typing import Any
from uuid import UUID

from tests.tracked_markup import HEAD

from waypost.templates.model import Content
from waypost.templates.ports import RenderJob

__all__ = ["HEAD", "job_of"]
_CONTENT = Content(subject="")


def job_of(context: dict[str, Any], version: int = 1, content: Content = _CONTENT, **fields: Any) -> RenderJob:
    usual: dict[str, Any] = {"tenant_id": "acme", "version_id": UUID(int=version), "content": content, "head": HEAD}
    return RenderJob(context=context, **(usual | fields))
