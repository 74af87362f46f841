"""The API is killed in the middle of a request: whoever repeats it under the same key gets one effect."""

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx
from benchmarks.chaos.caller import Caller, message
from benchmarks.chaos.stage import Stage, eventually

People = Callable[[int], list[str]]


def _notifications(stage: Stage, caller: Caller) -> int:
    return stage.count("select count(*) from waypost.notifications where tenant_id = $1", caller.tenant_id)


def test_killed_before_the_commit_nothing_is_there_and_the_key_is_free(
    stage: Stage, caller: Caller, people: People
) -> None:
    key, body = uuid4().hex, message(people(10), "transactional")
    broken = threading.Event()

    def ask() -> None:
        try:
            caller.once("POST", "/v1/notifications", body, key=key)
        except httpx.TransportError:
            broken.set()

    asking = threading.Thread(target=ask)
    with stage.locked("notifications"):
        asking.start()
        eventually(lambda: stage.waits_for("notifications"), "a request that waits")
        stage.api.kill()
        asking.join()
    assert broken.is_set()
    eventually(
        lambda: not stage.query("select from pg_stat_activity where application_name = 'waypost api'"), "a rollback"
    )
    assert _notifications(stage, caller) == 0
    stage.start_api()
    answer = caller.once("POST", "/v1/notifications", body, key=key)
    assert answer.status_code == 202
    assert caller.once("POST", "/v1/notifications", body, key=key).content == answer.content
    assert _notifications(stage, caller) == 10


def test_an_answer_lost_after_the_commit_is_given_again(stage: Stage, caller: Caller, people: People) -> None:
    key, body = uuid4().hex, message(people(3), "transactional")
    request = caller.spell("POST", "/v1/notifications", body, key=key)
    with socket.create_connection(("127.0.0.1", stage.settings.port)) as line:
        line.sendall(request)
        eventually(lambda: _notifications(stage, caller) == 3, "a commit")
        stage.api.kill()
    stage.start_api()
    answer = caller.once("POST", "/v1/notifications", body, key=key)
    assert answer.status_code == 202
    assert len(answer.json()["notifications"]) == 3
    assert _notifications(stage, caller) == 3


def test_twenty_twins_and_a_kill_have_one_effect_and_one_answer(stage: Stage, caller: Caller, people: People) -> None:
    for wait in (0.02, 0.1):
        before = _notifications(stage, caller)
        key, body = uuid4().hex, message(people(50), "marketing")
        with ThreadPoolExecutor(20) as twins:
            answers = [twins.submit(caller.ask, "POST", "/v1/notifications", body, key=key) for _ in range(20)]
            time.sleep(wait)
            stage.api.kill()
            stage.start_api()
            bodies = [answer.result() for answer in answers]
        assert all(one == bodies[0] for one in bodies)
        assert _notifications(stage, caller) == before + 50
    stage.start_worker()
    eventually(lambda: not caller.unfinished(), "an end for all")
    assert {one["status"] for one in caller.all().values()} == {"dispatched"}
