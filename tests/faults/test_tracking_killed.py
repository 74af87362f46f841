"""The API is killed while opens and clicks pour in: whatever was answered is in the database."""

import threading
from uuid import UUID

import httpx
from benchmarks.chaos.caller import Caller
from benchmarks.chaos.stage import Stage, eventually

from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.kernel.tokens import Purpose, Stamp
from waypost.tracking.link_token import link_key_of, write_link

CALLERS, MESSAGES = 6, 20
URL = "https://shop.example.com/spring"


def _paths(stage: Stage, caller: Caller) -> list[str]:
    """Each is asked once: its event can be told from every other."""
    [tenant] = stage.query("select wrapped_key from waypost.tenants where id = $1", caller.tenant_id)
    vault = LocalVault(open_master_key(stage.settings.master_key_path, create=False))
    key = vault.tenant_key(caller.tenant_id, tenant["wrapped_key"])
    mark = Stamp(Purpose.MESSAGE, caller.tenant_id, key)
    rows = stage.query("select id, version_id from waypost.notifications where tenant_id = $1", caller.tenant_id)
    version: UUID = rows[0]["version_id"]
    links = [write_link(link_key_of(key, version), version.bytes, n, URL, is_personal=False) for n in range(1, 401)]
    return [f"/t/c/{mark(row['id'].bytes)}.{link}" for link in links for row in rows]


def test_no_answered_click_is_lost(stage: Stage, caller: Caller) -> None:
    caller.send([f"reader{number}@faults.example" for number in range(MESSAGES)])
    paths = iter(_paths(stage, caller))
    answered, guard = list[int](), threading.Lock()

    def read() -> None:
        with httpx.Client(base_url=stage.url, trust_env=False, timeout=60) as web:
            while True:
                with guard:
                    path = next(paths)
                try:
                    answer = web.get(path)
                except httpx.TransportError:
                    return
                with guard:
                    answered.append(answer.status_code)

    readers = [threading.Thread(target=read) for _ in range(CALLERS)]
    for reader in readers:
        reader.start()
    eventually(lambda: len(answered) > 200, "two hundred answers")
    stage.api.kill()
    for reader in readers:
        reader.join()
    stage.start_api()
    assert set(answered) == {302}
    kept = stage.count("select count(*) from waypost.tracking_events where tenant_id = $1", caller.tenant_id)
    told = stage.count("select count(*) from waypost.outbox where tenant_id = $1 and kind = 61", caller.tenant_id)
    assert len(answered) <= kept <= len(answered) + CALLERS
    assert told == kept
