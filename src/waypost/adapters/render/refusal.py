"""A message that cannot be made."""


class RenderRefused(Exception):
    """`message` holds no variable's value; `pointer` names the part of the content."""

    def __init__(self, code: str, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.pointer = pointer
