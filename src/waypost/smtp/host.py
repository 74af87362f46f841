"""What a session asks of the server it belongs to."""

import ssl
from typing import Protocol

from waypost.bootstrap import App
from waypost.smtp.guesses import Guesses
from waypost.smtp.limits import Limits
from waypost.smtp.metrics import SmtpMetrics


class Host(Protocol):
    @property
    def app(self) -> App: ...

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def metrics(self) -> SmtpMetrics: ...

    @property
    def guesses(self) -> Guesses: ...

    @property
    def certificate(self) -> ssl.SSLContext | None: ...

    @property
    def is_closing(self) -> bool: ...

    def hold(self, count: int) -> None:
        """Of bytes; raises `Unavailable` where there is no room for them."""
        ...

    def let_go(self, count: int) -> None: ...
