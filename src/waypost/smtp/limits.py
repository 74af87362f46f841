"""How much one caller, one session and one mail may cost."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    mail_bytes: int = 10 * 1024 * 1024
    recipients: int = 100
    """Of one mail."""
    per_address: int = 20
    """Sessions at a time from one IPv4 address or one IPv6 /64."""
    sessions: int = 500
    in_hand_bytes: int = 128 * 1024 * 1024
    """Memory for mails not answered yet, over all sessions."""
    faults: int = 10
    """Commands that were refused, before a session is ended."""
    tries: int = 3
    """Wrong keys, before a session is ended."""
    idle_seconds: float = 300.0
    """Between two commands of somebody who has shown a key."""
    stranger_seconds: float = 60.0
    """From the greeting to the right key, whatever is said in between."""
    content_seconds: float = 600.0
    """For the whole of a mail, however it trickles."""
    pause_seconds: float = 120.0
    """Between two pieces of a mail."""
    handling_seconds: float = 30.0
    handshake_seconds: float = 15.0
