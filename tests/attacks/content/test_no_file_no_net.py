"""12. Nothing in content or in a schema makes Waypost open a file or call anybody."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest


class Canary:
    """A port, a file and a pipe on this machine; each knows whether it was touched."""

    def __init__(self, folder: Path, listener: Any) -> None:
        self._listener = listener
        self.port: int = listener.port
        self.file = folder / "secret.css"
        self.file.write_text("p { color: hush }")
        self.schema = folder / "secret.json"
        self.schema.write_text('{"const": "hush"}')
        self.pipe = folder / "pipe"
        os.mkfifo(self.pipe)
        for path in (folder, self.file, self.schema, self.pipe):
            path.chmod(0o777)
        # Older than its own change, so that one read moves it on every kind of mount that keeps such times at all.
        for path in (self.file, self.schema):
            os.utime(path, (1, 2))
        self._before = [path.stat().st_atime_ns for path in (self.file, self.schema)]

    @property
    def urls(self) -> list[str]:
        here = f"127.0.0.1:{self.port}"
        return [
            f"http://{here}/x.css", f"https://{here}/x.css", f"//{here}/x.css", f"http://localhost:{self.port}/x.css",
            self.file.as_uri(), str(self.file), self.schema.as_uri(), str(self.schema), self.pipe.as_uri(),
            str(self.pipe), f"../../../../../..{self.file}", "file:///proc/self/environ", "/dev/zero",
        ]  # fmt: skip

    def touched(self) -> list[str]:
        found = [call.decode("latin-1") for call in self._listener.calls]
        for path, before in zip((self.file, self.schema), self._before, strict=True):
            found += [str(path)] if path.stat().st_atime_ns != before else []
        # Opens only where somebody holds the other end.
        with suppress(OSError):
            os.close(os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK))
            found.append(str(self.pipe))
        return found


@pytest.fixture
def canary(tmp_path: Path, listener: Any) -> Canary:
    return Canary(tmp_path, listener)


def test_the_canary_sings(canary: Canary) -> None:
    assert canary.touched() == []
    reader = os.open(canary.pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert canary.touched() == [str(canary.pipe)]
    os.close(reader)


HTML = (
    '<link rel="stylesheet" href="{url}"><link rel="preload" href="{url}">',
    '<style>@import "{url}"; p {{ background: url({url}) }}</style><p>x</p>',
    '<style>@import url({url});</style><p style="background:url({url})">x</p>',
    '<img src="{url}"><img srcset="{url} 2x"><video poster="{url}"></video><object data="{url}"></object>',
    '<iframe src="{url}"></iframe><script src="{url}"></script><base href="{url}"><meta http-equiv="refresh" '
    'content="0;url={url}">',
    '<mj-include path="{url}" /><mj-font name="f" href="{url}" />',
    '<!DOCTYPE html SYSTEM "{url}"><!ENTITY x SYSTEM "{url}"><svg><use href="{url}"/></svg>',
    "![x]({url}) [x]({url})",
)
TEMPLATES = (
    "{{% include '{url}' %}}",
    "{{% extends '{url}' %}}",
    "{{% import '{url}' as x %}}",
    "{{% from '{url}' import x %}}",
)


def test_content_reaches_no_file_and_no_net(fortress: Any, canary: Canary) -> None:
    caller = fortress.tenant("canary-content")
    sent = 0
    for number, url in enumerate(canary.urls):
        html = "".join(part.format(url=url) for part in HTML)
        someone = {"email": f"canary-{number}@hush.example"}
        body = {"to": someone, "content": {"subject": url, "html": html, "text": url}, "variables": {"url": url}}
        answer = caller("POST", "/v1/notifications", body)
        assert answer.status_code == 202, answer.text
        sent += 1
        notification = answer.json()["notifications"][0]["id"]
        assert "p { color" not in caller("GET", f"/v1/notifications/{notification}/content").text
        for template in TEMPLATES:
            for source in (template.format(url=url), template.format(url="X").replace("'X'", "url")):
                refused = caller("POST", "/v1/notifications", body | {"content": {"subject": "s", "html": source}})
                assert refused.status_code == 422, (source, refused.text)
                assert "p { color" not in refused.text
    fortress.eventually(lambda: sum(b"canary-" in mail.people[0] for mail in list(fortress.sink.mail)) >= sent)
    assert not [mail for mail in list(fortress.sink.mail) if b"color: hush" in mail.raw]
    assert canary.touched() == []


def test_a_schema_reaches_no_file_and_no_net(fortress: Any, canary: Canary) -> None:
    caller = fortress.tenant("canary-schema")
    caller.ok("POST", "/v1/templates", {"key": "k", "name": "n", "category": "transactional"})
    # Each is refused before it is compiled; a few of each kind are enough.
    for url in (canary.urls[0], canary.schema.as_uri(), str(canary.pipe)):
        for schema in (
            {"$ref": url},
            {"properties": {"a": {"$ref": f"{url}#/x"}}},
            {"$schema": url},
            {"$id": url, "$ref": "other.json"},
            {"$defs": {"x": {"$dynamicRef": url}}, "$ref": "#/$defs/x"},
        ):
            words = {"subject": "s", "body": "t", "format": "text"}
            body = {"locales": {"en": words}, "variables_schema": schema}
            answer = caller("POST", "/v1/templates/k/email/versions", body)
            assert answer.status_code in (201, 422), answer.text
            assert "hush" not in answer.text.replace(url, "").replace("hush-hush", "")
            if answer.status_code == 201:
                number = answer.json()["semver"]
                caller("POST", f"/v1/templates/k/email/versions/{number}/preview", {"variables": {"a": "x"}})
    assert canary.touched() == []


COMPILED = {
    "mjml": (
        '<mjml><mj-body><mj-include path="{url}" /></mj-body></mjml>',
        '<mjml><mj-head><mj-font name="f" href="{url}" /><mj-style>@import "{url}";</mj-style></mj-head><mj-body>'
        '<mj-section background-url="{url}"><mj-column><mj-image src="{url}" /></mj-column></mj-section></mj-body>'
        "</mjml>",
    ),
    "markdown": ("![x]({url}) [x]({url})", '<link rel="stylesheet" href="{url}">', '<style>@import "{url}"</style>'),
    "html": ('<link rel="stylesheet" href="{url}"><style>@import "{url}"; p {{ color: url({url}) }}</style><p>x</p>',),
}


def test_what_is_compiled_reaches_no_file_and_no_net(fortress: Any, canary: Canary) -> None:
    caller = fortress.tenant("canary-compiled")
    caller.ok("POST", "/v1/templates", {"key": "canary", "name": "n", "category": "transactional"})
    for url in canary.urls:
        for form, sources in COMPILED.items():
            for source in sources:
                words = {"subject": "s", "body": source.format(url=url), "format": form}
                version = {"locales": {"en": words}}
                answer = caller("POST", "/v1/templates/canary/email/preview", {"version": version, "variables": {}})
                assert answer.status_code in (200, 422), answer.text
                assert "hush" not in answer.text
    assert canary.touched() == []
