"""The message that is measured: a newsletter of about 6.2 KB, personal in subject, greeting, figures and links."""

from waypost.templates.model import Content

_PARAGRAPH = (
    "Since your last visit we have moved the reports to a page of their own, made the search understand dates, and "
    "taught the export to wait for large files. Nothing that you have saved needs to be changed. "
)
_STORY = """\
<tr><td style="padding:0 24px 16px 24px;font-family:Helvetica,Arial,sans-serif;font-size:15px;line-height:22px">
<h2 style="margin:0 0 8px 0;font-size:18px">Story number {number}</h2>
<p style="margin:0 0 12px 0">{text}</p>
<a href="https://example.com/stories/{number}?reader={{{{ reader }}}}" style="color:#1a5fb4">Read on</a></td></tr>
"""

CONTENT = Content(
    subject="{{ first_name }}, here is what happened in {{ city }}",
    html=(
        '<!doctype html><html lang="en"><body style="margin:0;background:#f6f5f4"><table width="600" align="center">'
        '<tr><td style="padding:24px;font-family:Helvetica,Arial,sans-serif"><h1>Hello {{ first_name }}</h1>'
        "<p>You have {{ open_orders }} open orders and {{ points }} points in {{ city }}.</p></td></tr>\n"
        + "".join(_STORY.format(number=number, text=_PARAGRAPH * 2) for number in range(1, 6))
        + '<tr><td style="padding:24px;font-size:12px">You get this because you asked for it. '
        '<a href="https://example.com/preferences/{{ reader }}">Change that</a></td></tr></table></body></html>\n'
    ),
    text=(
        "Hello {{ first_name }},\n\nyou have {{ open_orders }} open orders and {{ points }} points in {{ city }}.\n\n"
        + "".join(
            f"{_PARAGRAPH}\nhttps://example.com/stories/{number}?reader={{{{ reader }}}}\n\n" for number in range(1, 6)
        )
        + "You get this because you asked for it: https://example.com/preferences/{{ reader }}\n"
    ),
)

_NAMES = ("Ada", "Björn", "Chiara", "Dmitri", "Esperança", "Fatima", "Grace", "Hồng")
_CITIES = ("Lisbon", "Zürich", "Oslo", "Łódź", "Porto", "Graz", "Nantes", "Cork")


def attributes_of(number: int) -> dict[str, str | int]:
    """What differs between readers; half of the names are not ASCII."""
    return {
        "first_name": _NAMES[number % 8],
        "city": _CITIES[number // 8 % 8],
        "open_orders": number % 17,
        "points": number * 7 % 10_000,
        "reader": f"r{number:08}",
    }


def address_of(number: int) -> str:
    return f"reader{number}@example.net"
