"""Domains over the API: claimed, proved by DNS, and the only thing that a live tenant may send from."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.dns_peer import SERVFAIL, Zone, zone

from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.tenants import PgTenantStore
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap import App
from waypost.bootstrap.api import open_app
from waypost.kernel.clock import SystemClock
from waypost.kernel.tenancy import PLATFORM_ONLY, Permission
from waypost.settings import Secret, Settings
from waypost.tenants.platform import ensure_platform

__all__ = ["zone"]

MESSAGE = {"to": {"email": "jane@example.org"}, "content": {"subject": "s", "text": "t"}}


@pytest.fixture
async def app(database: Any, tmp_path: Path, zone: Zone) -> AsyncIterator[App]:
    """As the others', but it asks a name server of ours."""
    settings = Settings(
        data_dir=tmp_path,
        database_api_url=Secret(database.api),
        catchall_port=1,
        dns_servers=(zone.server,),
        message_domain="waypost.example",
        default_from="Waypost <hello@waypost.example>",
        spf_include="spf.waypost.example",
        tracking_host="track.waypost.example",
    )
    master = open_master_key(settings.master_key_path, create=True)
    pool = await open_pool(database.api, PoolOptions(application_name="surfaces", min_size=0, max_size=1))
    await ensure_platform(PgWork(pool), PgTenantStore(), LocalVault(master), SystemClock())
    pool.terminate()
    async with open_app(settings) as app:
        yield app


async def live(platform: Any, tenant_id: str) -> Any:
    await platform.ok("POST", "/v1/tenants", {"id": tenant_id, "name": tenant_id, "mode": "live"})
    return await platform.with_scopes(tenant_id, *(one for one in Permission if one not in PLATFORM_ONLY))


def publish(zone: Zone, domain: Mapping[str, Any]) -> None:
    for record in domain["records"]:
        zone.set(record["type"], record["name"], record["value"])


async def verified(caller: Any, zone: Zone, name: str, *purposes: str) -> dict[str, Any]:
    made = await caller.ok("POST", "/v1/domains", {"name": name, "purposes": list(purposes) or ["from"]})
    publish(zone, made)
    return await caller.ok("POST", f"/v1/domains/{made['id']}/verify")


async def test_a_domain_is_claimed_proved_and_given_up(acme: Any, zone: Zone, admin: asyncpg.Connection) -> None:
    made = await acme.ok("POST", "/v1/domains", {"name": "Mail.Example.COM."})
    assert (made["name"], made["state"], made["purposes"]) == ("mail.example.com", "pending", ["from"])
    assert {key["state"] for key in made["keys"]} == {"next"}
    assert [record["found"] for record in made["records"]] == [None] * 5
    names = {record["name"] for record in made["records"]}
    selectors = {f"{key['selector']}._domainkey.mail.example.com" for key in made["keys"]}
    assert {"_waypost.mail.example.com", "_dmarc.mail.example.com", "mail.example.com"} | selectors == names

    path = f"/v1/domains/{made['id']}"
    nothing = await acme.ok("POST", f"{path}/verify")
    assert nothing["state"] == "pending"
    assert {check["result"] for check in nothing["checks"]} == {"failed"}
    assert not any(record["found"] for record in nothing["records"])

    publish(zone, made)
    proved = await acme.ok("POST", f"{path}/verify")
    assert proved["state"] == "verified"
    assert all(record["found"] for record in proved["records"])
    assert {key["state"] for key in proved["keys"]} == {"active"}
    assert proved == await acme.ok("GET", path)
    assert (await acme.ok("GET", "/v1/domains"))["items"] == [proved]

    assert await admin.fetchval("select count(*) from outbox where kind = 50") == 1
    actions = [entry["action"] for entry in (await acme.ok("GET", "/v1/audit"))["items"]]
    assert {"domain.created", "domain.checked", "domain.verified"} <= set(actions)

    await acme.ok("DELETE", path)
    assert await acme.refused("GET", path) == (404, "not_found", [])
    assert await admin.fetchval("select count(*) from dkim_keys") == 0


async def test_keys_are_sealed_and_never_shown(acme: Any, admin: asyncpg.Connection) -> None:
    made = await acme("POST", "/v1/domains", {"name": "example.com"})
    stored = await admin.fetch("select id, private_key, public_key from dkim_keys")
    assert len(stored) == 2
    for row in stored:
        assert row["private_key"][:1] == b"\x01"
        assert row["private_key"].hex() not in made.text
    assert "private" not in made.text
    assert {len(row["public_key"]) for row in stored} == {44, 392}, "Ed25519, and RSA of 2048 bits"


async def test_what_cannot_be_claimed(acme: Any) -> None:
    await acme.ok("POST", "/v1/domains", {"name": "example.com"})
    for body, expected in (
        ({"name": "EXAMPLE.com"}, (409, "domain_exists", [])),
        ({"name": "localhost"}, (422, "invalid_domain", ["/name"])),
        ({"name": "jane@example.com"}, (422, "invalid_domain", ["/name"])),
        ({"name": "waypost.example"}, (422, "domain_reserved", ["/name"])),
        ({"name": "a.example", "purposes": []}, (422, "required", ["/purposes"])),
        ({"name": "a.example", "purposes": ["from", "tracking"]}, (422, "tracking_stands_alone", ["/purposes"])),
        ({"name": "a.example", "purposes": ["everything"]}, (422, "unknown_value", ["/purposes/0"])),
    ):
        assert await acme.refused("POST", "/v1/domains", body) == expected


async def test_one_tenant_holds_a_domain_and_nobody_is_told_who(acme: Any, globex: Any, zone: Zone) -> None:
    await verified(acme, zone, "example.com")
    claim = await globex.ok("POST", "/v1/domains", {"name": "example.com"})
    for record in claim["records"]:
        if record["check"] in ("ownership", "dkim"):
            zone.set(record["type"], record["name"], record["value"])
    answer = await globex("POST", f"/v1/domains/{claim['id']}/verify")
    assert answer.json()["state"] == "pending"
    assert [check["name"] for check in answer.json()["checks"] if check["result"] == "failed"] == ["exclusive"]
    assert "acme" not in answer.text
    for key in claim["keys"]:
        assert key["state"] == "next"

    held = (await acme.ok("GET", "/v1/domains"))["items"][0]
    await acme.ok("DELETE", f"/v1/domains/{held['id']}")
    assert (await globex.ok("POST", f"/v1/domains/{claim['id']}/verify"))["state"] == "verified"


async def test_a_silent_name_server_takes_nothing_away(acme: Any, zone: Zone) -> None:
    proved = await verified(acme, zone, "example.com")
    zone.misbehave("*", SERVFAIL)
    again = await acme.ok("POST", f"/v1/domains/{proved['id']}/verify")
    assert again["state"] == "verified"
    assert {check["result"] for check in again["checks"]} == {"unknown"}
    zone.misbehave("*", None)
    zone.records.clear()
    lost = await acme.ok("POST", f"/v1/domains/{proved['id']}/verify")
    assert (lost["state"], lost["failing_since"] is not None) == ("failing", True)
    publish(zone, proved)
    back = await acme.ok("POST", f"/v1/domains/{proved['id']}/verify")
    assert (back["state"], back["failing_since"]) == ("verified", None)


async def test_keys_rotate_with_overlap(acme: Any, zone: Zone) -> None:
    made = await acme.ok("POST", "/v1/domains", {"name": "example.com"})
    path = f"/v1/domains/{made['id']}"
    assert await acme.refused("POST", f"{path}/rotate-keys", {}) == (409, "no_active_key", [])
    publish(zone, made)
    await acme.ok("POST", f"{path}/verify")
    rotated = await acme.ok("POST", f"{path}/rotate-keys", {"overlap": "3d"})
    assert sorted(key["state"] for key in rotated["keys"]) == ["active", "active", "next", "next"]
    assert await acme.refused("POST", f"{path}/rotate-keys", {}) == (409, "rotation_underway", [])
    assert await acme.refused("POST", f"{path}/rotate-keys", {"overlap": "5m"}) == (
        422, "invalid_duration", ["/overlap"],
    )  # fmt: skip
    assert await acme.refused("POST", f"{path}/rotate-keys", {"overlap": "91d"}) == (422, "out_of_range", ["/overlap"])
    waiting = await acme.ok("POST", f"{path}/verify")
    assert waiting["state"] == "verified"
    assert sorted(key["state"] for key in waiting["keys"]) == ["active", "active", "next", "next"]
    publish(zone, rotated)
    turned = await acme.ok("POST", f"{path}/verify")
    states = {key["selector"]: key["state"] for key in turned["keys"]}
    assert [states[key["selector"]] for key in made["keys"]] == ["retired", "retired"]
    assert sorted(states.values()) == ["active", "active", "retired", "retired"]
    assert all(key["retired_until"] for key in turned["keys"] if key["state"] == "retired")


async def test_another_tenants_domain_is_nobodys(acme: Any, globex: Any) -> None:
    made = await acme.ok("POST", "/v1/domains", {"name": "example.com"})
    path = f"/v1/domains/{made['id']}"
    for method, place, body in (
        ("GET", path, None), ("POST", f"{path}/verify", None), ("POST", f"{path}/rotate-keys", {}),
        ("DELETE", path, None),
    ):  # fmt: skip
        assert await globex.refused(method, place, body) == (404, "not_found", [])


async def test_a_live_tenant_sends_only_from_what_it_has_proved(platform: Any, zone: Zone) -> None:
    shop = await live(platform, "shop")
    for sender in ("hello@example.com", "Shop <ceo@waypost.example>", "hello@sub.example.com"):
        refused = await shop.refused("POST", "/v1/notifications", {**MESSAGE, "from": sender})
        assert refused == (422, "domain_not_verified", ["/from"])
    await shop.ok("POST", "/v1/notifications", MESSAGE)
    await shop.ok("POST", "/v1/notifications", {**MESSAGE, "from": "The Shop <hello@waypost.example>"})

    proved = await verified(shop, zone, "example.com")
    [sent] = (await shop.ok("POST", "/v1/notifications", {**MESSAGE, "from": "Shop <hello@Example.com>"}))[
        "notifications"
    ]
    await shop.ok("POST", f"/v1/notifications/{sent['id']}/cancel")
    await shop.ok("POST", f"/v1/notifications/{sent['id']}/resend")
    assert await shop.refused("POST", "/v1/notifications", {**MESSAGE, "from": "hello@sub.example.com"}) == (
        422, "domain_not_verified", ["/from"],
    )  # fmt: skip
    items = [{**MESSAGE, "from": "hello@example.com"}, {**MESSAGE, "from": "hello@bank.example"}, MESSAGE]
    bulk = await shop.ok("POST", "/v1/notifications/bulk", items)
    assert [item.get("error", {}).get("code") for item in bulk["items"]] == [None, "domain_not_verified", None]

    await shop.ok("DELETE", f"/v1/domains/{proved['id']}")
    again = f"/v1/notifications/{sent['id']}/resend"
    assert await shop.refused("POST", again) == (409, "domain_not_verified", [])
    assert await shop.refused("POST", "/v1/notifications", {**MESSAGE, "from": "hello@example.com"}) == (
        422, "domain_not_verified", ["/from"],
    )  # fmt: skip


async def test_a_live_tenants_accounts_speak_as_itself_too(platform: Any, zone: Zone) -> None:
    shop = await live(platform, "shop")
    account = {"name": "a", "kind": "smtp", "host": "smtp.example.net", "auth": "none", "from_address": "a@example.com"}
    refused = (422, "domain_not_verified", ["/from_address"])
    assert await shop.refused("POST", "/v1/sender-accounts", account) == refused
    await verified(shop, zone, "example.com")
    made = await shop.ok("POST", "/v1/sender-accounts", account)
    change = {"from_address": "a@bank.example"}
    assert await shop.refused("PATCH", f"/v1/sender-accounts/{made['id']}", change) == refused
    await shop.ok("PATCH", f"/v1/sender-accounts/{made['id']}", {"from_address": "b@example.com"})


async def test_people_are_alerted_while_there_is_time(acme: Any, zone: Zone) -> None:
    proved = await verified(acme, zone, "example.com")
    zone.drop("TXT", "_waypost.example.com")
    await acme.ok("POST", f"/v1/domains/{proved['id']}/verify")
    (alert,) = (await acme.ok("GET", "/v1/alerts"))["items"]
    assert (alert["kind"], alert["subject"], alert["closed_at"]) == ("domain_lost", "example.com", None)
    publish(zone, proved)
    await acme.ok("POST", f"/v1/domains/{proved['id']}/verify")
    (alert,) = (await acme.ok("GET", "/v1/alerts"))["items"]
    assert alert["closed_at"] is not None


async def test_what_is_for_links_or_returns_is_not_for_sending(platform: Any, zone: Zone) -> None:
    shop = await live(platform, "shop")
    zone.set("TXT", "waypost.example", "v=spf1 include:spf.waypost.example -all")
    assert (await verified(shop, zone, "links.example.com", "tracking"))["state"] == "verified"
    made = await shop.ok("POST", "/v1/domains", {"name": "bounce.example.com", "purposes": ["return_path"]})
    publish(zone, made)
    zone.drop("TXT", "bounce.example.com")
    proved = await shop.ok("POST", f"/v1/domains/{made['id']}/verify")
    assert (proved["state"], proved["keys"]) == ("verified", [])
    for name in ("links", "bounce"):
        refused = await shop.refused("POST", "/v1/notifications", {**MESSAGE, "from": f"a@{name}.example.com"})
        assert refused == (422, "domain_not_verified", ["/from"])


async def test_a_sandbox_tenant_is_free(acme: Any) -> None:
    await acme.ok("POST", "/v1/notifications", {**MESSAGE, "from": "Anybody <ceo@bank.example>"})


async def test_nobody_waits_behind_somebody_elses_name_servers(acme: Any, app: App, zone: Zone) -> None:
    made = await acme.ok("POST", "/v1/domains", {"name": "example.com"})
    app.domains.verify._asking.update({"a", "b", "c"})
    assert await acme.refused("POST", f"/v1/domains/{made['id']}/verify") == (429, "checks_underway", [])
    assert zone.asked == []


async def test_the_operator_proves_the_default_sender_s_domain_with_a_platform_key(
    platform: Any, acme: Any, zone: Zone
) -> None:
    assert (await acme.refused("POST", "/v1/domains", {"name": "waypost.example"}))[1] == "domain_reserved"
    proved = await verified(platform, zone, "waypost.example")
    assert (proved["state"], len(proved["keys"])) == ("verified", 2)
    assert (await acme.ok("GET", "/v1/domains"))["items"] == []
