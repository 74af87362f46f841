"""The cells of one record."""

import csv


def cells_of(text: str, delimiter: str) -> list[str] | None:
    """None where the quotes make no sense."""
    if '"' not in text:
        return text.split(delimiter)
    try:
        rows = list(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None
