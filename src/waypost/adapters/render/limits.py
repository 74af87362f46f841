"""How much one child, one batch and one message may cost."""

from typing import Final

import msgspec

MAX_SOURCE_BYTES: Final = 256 * 1024
MAX_COMPILED_BYTES: Final = 512 * 1024
"""What a source may grow to: MJML and inlined CSS repeat themselves."""
MAX_DERIVED_BYTES: Final = 256 * 1024
"""Of HTML that has no text part of its own: deriving one from more takes too long for a message."""
MAX_SCHEMA_BYTES: Final = 64 * 1024

MOST_PLAIN_BYTES: Final = 8 * 1024 * 1024
"""Of the contents whose messages are made without a child, mails and parts each."""


class RenderLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Time is counted as the child's own CPU time, so that a busy host never makes an honest message late.
    The wall clock is only the net under it, for a child that stands still."""

    memory_bytes: int = 512 * 1024 * 1024
    item_cpu_seconds: float = 0.3
    """An item that takes longer kills its child."""
    compile_cpu_seconds: float = 1.5
    """The same for making a content of what an author wrote, which is done once and apart from everything else."""
    slow_cpu_seconds: float = 0.05
    """Content with an item that takes longer is served apart from the others."""
    batch_cpu_seconds: float = 1.0
    """A child answers early, with fewer results than asked for, once it has worked this long."""
    wall_seconds: float = 10.0
    message_bytes: int = 2 * 1024 * 1024
    """Of one rendered message, all parts together."""
    reply_pause_bytes: int = 16 * 1024 * 1024
    """Or once its answer is this large."""
    frame_bytes: int = 32 * 1024 * 1024
    """Of one request or reply on the pipe."""
    request_bytes: int = 8 * 1024 * 1024
    """A batch whose request would be larger is sent in parts."""
    shelf_bytes: int = 16 * 1024 * 1024
    """Of the sources one child keeps compiled."""
    doubtful_cpu_seconds: float = 10.0
    """What one call may spend on a tenant's doubtful content, before what is left of it is given up."""
    hopeless_cpu_seconds: float = 0.5
    """The same, for a tenant of whose doubtful content nothing comes but deaths."""
    worn_rss_bytes: int = 192 * 1024 * 1024
    worn_items: int = 5_000_000
    """A child past either is replaced after its answer."""
