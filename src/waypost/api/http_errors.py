"""Refusals that only HTTP knows. They hang under the tree of `kernel/errors.py`.

WaypostError
├── MethodNotAllowed      405  carries what is allowed
├── RequestTimeout        408  the body did not arrive in time
└── UnsupportedMediaType  415
"""

from waypost.kernel.errors import WaypostError


class MethodNotAllowed(WaypostError):
    status = 405
    title = "Method not allowed"
    default_code = "method_not_allowed"

    def __init__(self, allowed: str) -> None:
        super().__init__("This path does not take this method; the Allow header names those it takes.")
        self.allowed = allowed


class RequestTimeout(WaypostError):
    status = 408
    title = "Request too slow"
    default_code = "body_too_slow"


class UnsupportedMediaType(WaypostError):
    status = 415
    title = "Unsupported media type"
    default_code = "unsupported_media_type"
