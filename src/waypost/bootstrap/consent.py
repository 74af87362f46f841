"""Topics, choices, consent, suppression and the pages for recipients, joined to their stores."""

from collections.abc import Sequence
from dataclasses import dataclass

from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.limits import PgLimits
from waypost.adapters.postgres.preferences import PgChoices, PgConsents, PgTopics
from waypost.adapters.postgres.senders import PgSenderAccounts
from waypost.adapters.postgres.suppression import PgSuppressions
from waypost.bootstrap.everywhere import everywhere_of
from waypost.kernel.clock import Clock
from waypost.kernel.tokens import Tokens
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Work
from waypost.notifications.consent import ConsentParts, Consents
from waypost.notifications.explain import Explain
from waypost.notifications.hosted import Hosted, HostedParts
from waypost.notifications.links import Links
from waypost.notifications.opt_in_mail import OptInMail
from waypost.notifications.ports import MarketingSequences, SubmitCall
from waypost.notifications.unsubscribe import Unsubscribe
from waypost.notifications.wishes import Wishes
from waypost.preferences.choices import ChoiceDesk
from waypost.preferences.history import ConsentHistory
from waypost.preferences.joining import JoinPreferences
from waypost.preferences.policies import Policies
from waypost.preferences.topics import Topics
from waypost.senders.forecast import Forecast
from waypost.settings import Settings
from waypost.suppression.desk import SuppressionDesk
from waypost.suppression.suppress import Suppressions
from waypost.suppression.table import SuppressionTable
from waypost.templates.versions import Versions
from waypost.tenants.audit import Audit
from waypost.tenants.ports import TenantStore


def links_of(settings: Settings) -> Links:
    return Links(settings.api_url.rstrip("/"), settings.message_domain)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stores:
    """What preferences stand on; several joints share it."""

    choices: ChoiceDesk
    history: ConsentHistory
    joining: JoinPreferences


def join_preferences(*, keyring: Keyring, audit: Audit, clock: Clock) -> Stores:
    choices = ChoiceDesk(store=PgChoices(), topics=PgTopics(), audit=audit, clock=clock)
    history = ConsentHistory(store=PgConsents(), keyring=keyring, clock=clock)
    joining = JoinPreferences(store=PgChoices(), choices=choices, history=history)
    return Stores(choices=choices, history=history, joining=joining)


def join_suppressions(*, keyring: Keyring, audit: Audit, clock: Clock) -> SuppressionDesk:
    return SuppressionDesk(
        suppressions=Suppressions(store=PgSuppressions(), clock=clock),
        topics=PgTopics(),
        everywhere=everywhere_of(keyring),
        keyring=keyring,
        audit=audit,
    )


def join_wishes(
    *,
    settings: Settings,
    stores: Stores,
    submit: SubmitCall,
    suppressions: SuppressionDesk,
    delivery: PgDelivery,
    versions: Versions,
    tenants: TenantStore,
    work: Work,
    keyring: Keyring,
    audit: Audit,
    clock: Clock,
    sequences: Sequence[MarketingSequences] = (),
) -> Wishes:
    plain = Suppressions(store=PgSuppressions(), clock=clock)
    tokens = Tokens(work=work, keyring=keyring, clock=clock)
    unsubscribe = Unsubscribe(
        choices=stores.choices,
        history=stores.history,
        policies=PgChoices(),
        suppressions=plain,
        delivery=delivery,
        sequences=sequences,
        keyring=keyring,
    )
    consents = Consents(
        ConsentParts(
            people=PgChoices(),
            choices=stores.choices,
            topics=PgTopics(),
            history=stores.history,
            suppressions=plain,
            unsubscribe=unsubscribe,
            opt_in_mail=OptInMail(
                submit=submit,
                versions=versions,
                tenants=tenants,
                links=links_of(settings),
                keyring=keyring,
                clock=clock,
            ),
            audit=audit,
            clock=clock,
        )
    )
    return Wishes(
        topics=Topics(store=PgTopics(), policies=PgChoices(), audit=audit, clock=clock),
        choices=stores.choices,
        policies=Policies(store=PgChoices(), audit=audit, clock=clock),
        consents=consents,
        explain=Explain(
            people=PgChoices(),
            topics=PgTopics(),
            versions=versions,
            delivery=delivery,
            limits=PgLimits(),
            room=Forecast(accounts=PgSenderAccounts(), clock=clock),
            clock=clock,
        ),
        hosted=Hosted(
            HostedParts(
                work=work,
                tokens=tokens,
                people=PgChoices(),
                topics=PgTopics(),
                policies=PgChoices(),
                suppressions=plain,
                tenants=tenants,
                unsubscribe=unsubscribe,
                consents=consents,
                keyring=keyring,
                clock=clock,
            )
        ),
        tokens=tokens,
        suppression_table=SuppressionTable(desk=suppressions, suppressions=plain, audit=audit),
    )
