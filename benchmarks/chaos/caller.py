"""Somebody with a key, who repeats a call under the same Idempotency-Key until it is answered."""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any, Self
from uuid import uuid4

import httpx

PATIENCE = 60.0
_PAUSE = 0.05
_LATER = {429, 502, 503, 504}
ENDS = {"dispatched", "delivered", "bounced", "failed", "suppressed", "cancelled", "expired", "unconfirmed"}


class Caller:
    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._key = key
        self.tenant_id = ""
        self._http = httpx.Client(base_url=url, trust_env=False, timeout=15)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def once(self, method: str, path: str, body: object = None, *, key: str | None = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        content = None if body is None else json.dumps(body).encode()
        return self._http.request(method, path, content=content, headers=headers)

    def spell(self, method: str, path: str, body: object, *, key: str) -> bytes:
        """The very bytes of a request, for who will not wait for the answer."""
        content = json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1",
            f"Host: {httpx.URL(self._url).netloc.decode()}",
            f"Authorization: Bearer {self._key}",
            f"Idempotency-Key: {key}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
        )
        return "\r\n".join(head).encode() + b"\r\n\r\n" + content

    def ask(self, method: str, path: str, body: object = None, *, key: str | None = None) -> Any:
        """Answered in the end, whatever happens to the API meanwhile."""
        key = key or (uuid4().hex if method == "POST" else None)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self.once(method, path, body, key=key)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.is_success:
                return answer.json()
            again = answer is None or answer.status_code in _LATER or '"in_progress"' in answer.text
            if not again or time.monotonic() > deadline:
                raise AssertionError((method, path, answer and (answer.status_code, answer.text[:500])))
            time.sleep(_PAUSE)

    def send(self, people: Iterable[str], category: str = "transactional", *, key: str | None = None) -> dict[str, str]:
        """One call to many. Answers each address's notification."""
        people = list(people)
        accepted = self.ask("POST", "/v1/notifications", message(people, category), key=key)
        return dict(zip(people, (one["id"] for one in accepted["notifications"]), strict=True))

    def all(self) -> dict[str, Mapping[str, Any]]:
        """Every notification of the tenant, by id."""
        found: dict[str, Mapping[str, Any]] = {}
        cursor = ""
        while True:
            page = self.ask("GET", f"/v1/notifications?limit=100{cursor}")
            found |= {one["id"]: one for one in page["items"]}
            if page["next"] is None:
                return found
            cursor = f"&cursor={page['next']}"

    def unfinished(self) -> list[str]:
        return [name for name, one in self.all().items() if one["status"] not in ENDS]


def message(people: list[str], category: str) -> dict[str, Any]:
    return {
        "to": [{"email": address} for address in people],
        "content": {"subject": "Your order", "text": "It is on its way.\n"},
        "category": category,
    }
