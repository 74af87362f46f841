"""The use cases of templates, joined to their stores."""

from waypost.adapters.postgres.blobs import PgBlobs
from waypost.adapters.postgres.preferences import PgTopics
from waypost.adapters.postgres.template_contents import PgVersionStore
from waypost.adapters.postgres.templates import PgDraftStore, PgTemplateStore
from waypost.kernel.blobs import Blobs
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.recipients.records import Recipients
from waypost.templates.catalog import Catalog
from waypost.templates.compiling import Compiler
from waypost.templates.desk import Templates
from waypost.templates.drafting import Drafts
from waypost.templates.lookup import Lookup
from waypost.templates.ports import Renderer
from waypost.templates.preview import Preview
from waypost.templates.publish import Publish
from waypost.tenants.audit import Audit


def templates_of(
    *, renderer: Renderer, keyring: Keyring, recipients: Recipients, audit: Audit, clock: Clock
) -> Templates:
    store, draft_store, versions = PgTemplateStore(), PgDraftStore(), PgVersionStore()
    lookup = Lookup(templates=store, drafts=draft_store, keyring=keyring)
    compiler = Compiler(drafts=draft_store, versions=versions, renderer=renderer, keyring=keyring)
    catalog = Catalog(store=store, drafts=draft_store, lookup=lookup, topics=PgTopics(), clock=clock, audit=audit)
    blobs = Blobs(PgBlobs())
    drafts = Drafts(
        store=draft_store,
        catalog=catalog,
        lookup=lookup,
        compiler=compiler,
        renderer=renderer,
        blobs=blobs,
        clock=clock,
    )
    return Templates(
        catalog=catalog,
        drafts=drafts,
        publish=Publish(store=draft_store, catalog=catalog, lookup=lookup, compiler=compiler, clock=clock),
        preview=Preview(
            lookup=lookup,
            drafts=drafts,
            compiler=compiler,
            versions=versions,
            recipients=recipients,
            renderer=renderer,
            blobs=blobs,
            clock=clock,
        ),
    )
