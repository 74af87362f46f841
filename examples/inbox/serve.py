"""A page with the inbox on it, and the one thing its server must do: give the signed-in person a token.

    python examples/inbox/serve.py            # then open http://127.0.0.1:8700

Reads WAYPOST_URL and WAYPOST_API_KEY, or the dev.env of `waypost up`.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

FOLDER = Path(__file__).parent
PERSON = "user-42"  # Whoever is signed in on your site.


def ask(method: str, path: str, body: object) -> dict[str, str]:
    request = Request(  # noqa: S310
        os.environ["WAYPOST_URL"] + path,
        method=method,
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {os.environ['WAYPOST_API_KEY']}", "Content-Type": "application/json"},
    )
    with urlopen(request, timeout=10) as answer:  # noqa: S310
        return json.load(answer)


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/inbox-token":
            self.answer("application/json", json.dumps(ask("POST", f"/v1/recipients/{PERSON}/token", {})))
        elif self.path == "/":
            page = (FOLDER / "index.html").read_text().replace("WAYPOST_URL", os.environ["WAYPOST_URL"])
            self.answer("text/html", page)
        else:
            self.send_error(404)

    def answer(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(port: int) -> None:
    site = f"http://127.0.0.1:{port}"
    ask("PUT", "/v1/inboxes/main", {"title": "Notifications"})
    ask("PATCH", "/v1/inbox-settings", {"allowed_origins": [site]})
    ask("PUT", f"/v1/recipients/{PERSON}", {"attributes": {"first_name": "Jane"}})
    welcome = {"audience": {"kind": "users", "recipients": [PERSON]}, "title": "Welcome", "body": "This is your inbox."}
    ask("POST", "/v1/inboxes/main/posts", welcome)
    print(f"Open {site}", flush=True)
    ThreadingHTTPServer(("127.0.0.1", port), Site).serve_forever()


def read_dev_env() -> None:
    file = Path(".waypost/dev.env")
    if "WAYPOST_URL" not in os.environ and file.exists():
        for line in file.read_text().splitlines():
            name, mark, value = line.partition("=")
            if mark:
                os.environ.setdefault(name, value)


if __name__ == "__main__":
    read_dev_env()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8700)
