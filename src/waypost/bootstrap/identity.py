"""Under which name messages go out, as the settings say."""

from waypost.notifications.sender import SenderIdentity
from waypost.settings import Settings


def identity_of(settings: Settings) -> SenderIdentity:
    return SenderIdentity(
        default_from=settings.default_from,
        message_domain=settings.message_domain,
        sends_for_real=settings.smtp_url is not None,
    )
