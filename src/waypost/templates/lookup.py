"""Finding a template and its versions by the names that people know them by."""

from waypost.kernel.errors import NotFound, PreconditionFailed
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vault import Keyring, TenantKey
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.templates import semver as semvers
from waypost.templates.model import Template, Version
from waypost.templates.sealing import open_version
from waypost.templates.stores import DraftStore, SealedVersion, TemplateStore


class Lookup:
    def __init__(self, *, templates: TemplateStore, drafts: DraftStore, keyring: Keyring) -> None:
        self._templates = templates
        self._drafts = drafts
        self._keyring = keyring

    async def template(self, tx: Transaction, key: str, channel: Channel) -> Template:
        """To read: the tenant's own, else the platform's."""
        found = await self._templates.find(tx, key, channel)
        if found is None:
            raise NotFound("There is no template of this key and channel.", code="template_not_found")
        return found

    async def own(self, tx: Transaction, key: str, channel: Channel, revision: int | None) -> Template:
        """To change: locked. `revision` is what the caller has seen (If-Match)."""
        found = await self._templates.lock(tx, key, channel)
        if found is None:
            raise NotFound("You have no template of this key and channel.", code="template_not_found")
        if revision is not None and revision != found.revision:
            raise PreconditionFailed("The template was changed meanwhile. Read it again.")
        return found

    async def sealed(self, tx: Transaction, template: Template, semver: str | None) -> SealedVersion:
        """The version of this number, or the active one."""
        is_possible = semver is None or semvers.parse(semver) is not None
        sealed = await self._drafts.find(tx, template, semver) if is_possible else None
        if sealed is None:
            words = "no published version now" if semver is None else "no version of this number"
            raise NotFound(f"This template has {words}.", code="version_not_found")
        return sealed

    async def version(self, tx: Transaction, template: Template, semver: str | None) -> Version:
        sealed = await self.sealed(tx, template, semver)
        return open_version(await self.key(tx, sealed.owner), sealed)

    async def key(self, tx: Transaction, owner: str) -> TenantKey:
        return await (self._keyring.of_platform(tx) if owner == PLATFORM else self._keyring.of(tx))
