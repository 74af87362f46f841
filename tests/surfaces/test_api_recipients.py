"""Recipients over HTTP."""

from typing import Any
from urllib.parse import quote

import pytest

ODD_IDS = [
    "a@b.example",
    "tenant|user",
    "a+b=c~d",
    "ns:42",
    "a.b-c_d",
    "x" * 128,
    "%41"[1:],
    "user 42".replace(" ", "-"),
]


@pytest.mark.parametrize("recipient_id", ODD_IDS)
async def test_ids_survive_the_path(acme: Any, recipient_id: str) -> None:
    path = f"/v1/recipients/{quote(recipient_id, safe='')}"
    made = await acme.ok("PUT", path, {"attributes": {"n": 1}})
    assert made["id"] == recipient_id
    assert (await acme.ok("GET", path))["id"] == recipient_id
    assert (await acme.ok("GET", f"{path}/addresses"))["items"] == []


@pytest.mark.parametrize(
    "segment",
    ["%00", "a%00b", "a%2Fb", "%FF", "a%20b", "x" * 129, "x" * 5000, "%E2%80%AE", "rcp_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"],
)
async def test_what_cannot_be_an_id_is_not_found(acme: Any, segment: str) -> None:
    unknown = await acme("GET", "/v1/recipients/nobody")
    odd = await acme("GET", f"/v1/recipients/{segment}")
    assert odd.status_code == 404
    if odd.json()["code"] != "no_such_path":
        assert odd.json() | {"request_id": ""} == unknown.json() | {"request_id": ""}
    assert (await acme("PUT", f"/v1/recipients/{segment}", {})).status_code in (404, 405, 422)


async def test_put_and_patch_merge(acme: Any) -> None:
    body = {"email": "Ada@Example.com", "locale": "en-gb", "timezone": "Europe/London", "attributes": {"a": 1, "b": 2}}
    made = await acme.ok("PUT", "/v1/recipients/u1", body)
    assert made["addresses"][0]["masked"] == "a***@example.com"
    assert "ada@example.com" not in str(made).lower().replace("a***@example.com", "")
    assert (made["locale"], made["timezone"], made["version"]) == ("en-GB", "Europe/London", 1)
    changed = await acme.ok(
        "PATCH", "/v1/recipients/u1", {"timezone": None, "attributes": {"a": None, "c": [1, {"d": 2}]}}
    )
    assert (changed["timezone"], changed["locale"]) == (None, "en-GB")
    assert changed["attributes"] == {"b": 2, "c": [1, {"d": 2}]}
    assert (await acme.refused("PATCH", "/v1/recipients/u2", {}))[:2] == (404, "not_found")


async def test_an_etag_guards_a_change(acme: Any) -> None:
    first = await acme("PUT", "/v1/recipients/u1", {"locale": "en"})
    etag = first.headers["etag"]
    second = await acme("PUT", "/v1/recipients/u1", {"locale": "de"}, headers={"If-Match": etag})
    assert second.headers["etag"] != etag
    late = await acme.refused("PUT", "/v1/recipients/u1", {"locale": "fr"}, headers={"If-Match": etag})
    assert late == (412, "precondition_failed", [])
    assert (await acme.ok("GET", "/v1/recipients/u1"))["locale"] == "de"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"email": "no"}, "/email"),
        ({"email": "a@b.example\r\nBcc: x"}, "/email"),
        ({"phone": "12"}, "/phone"),
        ({"timezone": "America"}, "/timezone"),
        ({"timezone": "x" * 5000}, "/timezone"),
        ({"timezone": "../../etc/passwd"}, "/timezone"),
        ({"locale": "english please"}, "/locale"),
        ({"kind": "robot"}, "/kind"),
        ({"attributes": []}, "/attributes"),
        ({"attributes": {"": 1}}, "/attributes"),
        ({"emial": "a@example.com"}, "/emial"),
    ],
)
async def test_bad_fields_are_named_and_nothing_is_stored(acme: Any, body: dict[str, Any], pointer: str) -> None:
    status, _, pointers = await acme.refused("PUT", "/v1/recipients/u1", body)
    assert (status, pointers) == (422, [pointer])
    assert (await acme.refused("GET", "/v1/recipients/u1"))[0] == 404


async def test_addresses_can_be_removed(acme: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {"email": "old@example.com"})
    await acme.ok("PUT", "/v1/recipients/u1", {"email": "new@example.com"})
    addresses = (await acme.ok("GET", "/v1/recipients/u1/addresses"))["items"]
    assert [address["current"] for address in addresses] == [True, False]
    gone = await acme("DELETE", f"/v1/recipients/u1/addresses/{addresses[0]['id']}")
    assert gone.status_code == 204
    left = (await acme.ok("GET", "/v1/recipients/u1/addresses"))["items"]
    assert [(address["id"], address["current"]) for address in left] == [(addresses[1]["id"], True)]


async def test_erasing_is_for_good(acme: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {"email": "ada@example.com"})
    for _ in range(2):
        assert (await acme.ok("DELETE", "/v1/recipients/u1"))["destroyed"]["data_keys"] == 1
    assert (await acme.refused("GET", "/v1/recipients/u1"))[:2] == (404, "not_found")
    assert (await acme.refused("PUT", "/v1/recipients/u1", {}))[:2] == (409, "recipient_erased")
    assert (await acme.ok("GET", "/v1/recipients"))["items"] == []


async def test_nobody_sees_another_tenant_s_people(acme: Any, globex: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {"email": "ada@example.com"})
    assert (await globex.ok("GET", "/v1/recipients"))["items"] == []
    for method, body in (("GET", None), ("PATCH", {}), ("DELETE", None)):
        foreign = await globex(method, "/v1/recipients/u1", body)
        unknown = await globex(method, "/v1/recipients/u2", body)
        assert foreign.status_code == unknown.status_code == 404
        assert foreign.json() | {"request_id": ""} == unknown.json() | {"request_id": ""}
    await globex.ok("PUT", "/v1/recipients/u1", {"locale": "fr"})
    assert (await acme.ok("GET", "/v1/recipients/u1"))["locale"] is None
