"""Images in a preview: put in where they are named, and nothing else."""

import pytest

from waypost.kernel.attachments import FileRef
from waypost.templates.inline_images import images_of, with_images

LOGO = FileRef(b"1", "logo.png", "image/png", 3, "logo")
SVG = FileRef(b"2", "mark.svg", "image/svg+xml; charset=utf-8", 5, "mark@acme.example")
PAPER = FileRef(b"3", "terms.pdf", "application/pdf", 4, "paper")
LOOSE = FileRef(b"4", "photo.png", "image/png", 4)
FILES = (LOGO, SVG, PAPER, LOOSE)
CONTENTS = {b"1": b"png", b"2": b"<svg>", b"3": b"%PDF", b"4": b"file"}


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ('<img src="cid:logo">', '<img src="data:image/png;base64,cG5n">'),
        ("<img src=cid:logo>", "<img src=data:image/png;base64,cG5n>"),
        ("<p style=\"background:url('CID:logo')\">", "<p style=\"background:url('data:image/png;base64,cG5n')\">"),
        ('<img src="cid:mark@acme.example">', '<img src="data:image/svg+xml;base64,PHN2Zz4=">'),
        ('<img src="cid:logos"> <img src="cid:paper">', '<img src="cid:logos"> <img src="cid:paper">'),
        ('<a href="https://example.com/?cid:logo">', '<a href="https://example.com/?cid:logo">'),
    ],
)
def test_an_image_stands_where_it_is_named(html: str, shown: str) -> None:
    assert with_images(html, images_of(html, FILES), CONTENTS) == shown


def test_only_what_is_shown_is_asked_for() -> None:
    assert images_of('<img src="cid:logo">', FILES) == {"logo": LOGO}
    assert images_of(None, FILES) == {}


def test_an_image_that_is_gone_stays_a_name() -> None:
    html = '<img src="cid:logo">'
    assert with_images(html, images_of(html, FILES), {}) == html
