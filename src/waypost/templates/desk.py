"""The use cases of templates under one name, as surfaces call them."""

from dataclasses import dataclass

from waypost.templates.catalog import Catalog
from waypost.templates.drafting import Drafts
from waypost.templates.preview import Preview
from waypost.templates.publish import Publish


@dataclass(frozen=True, kw_only=True, slots=True)
class Templates:
    catalog: Catalog
    drafts: Drafts
    publish: Publish
    preview: Preview
