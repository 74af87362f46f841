"""8. Errors say what went wrong and never with whose data: not in answers, not in logs, not in PostgreSQL's log.

Everything here carries the word that the whole run's logs are searched for at the end (see ../conftest.py).
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from waypost.adapters.postgres.work import PgWork
from waypost.kernel.errors import Unavailable, WaypostError

JANE = "jane@hush.example"
CONTENT = {"subject": "s", "text": "t"}


@pytest.fixture(scope="module")
def victim(fortress: Any) -> Any:
    return fortress.tenant("error-text")


@asynccontextmanager
async def broken(fortress: Any, how: str, mended: str) -> AsyncIterator[None]:
    connection = await asyncpg.connect(fortress.administrator, server_settings={"search_path": "waypost"})
    try:
        await connection.execute(how)
        try:
            yield
        finally:
            await connection.execute(mended)
    finally:
        await connection.close()


BREAKS = {
    "a check": (
        "alter table recipients add constraint broken check (external_id not like 'hush-%') not valid",
        "alter table recipients drop constraint broken",
    ),
    "a column that must be there": (
        "alter table recipients add column broken integer; alter table recipients add constraint broken not null broken"
        " not valid",
        "alter table recipients drop column broken",
    ),
    "a unique index": (
        "create unique index broken on recipients ((left(external_id, 4))) where external_id like 'hush-%'",
        "drop index broken",
    ),
    "a cast": (
        "alter table recipients add column broken integer generated always as (case when external_id like 'hush-3-%'"
        " then external_id::integer end) stored",
        "alter table recipients drop column broken",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
async def test_a_driver_s_error_tells_nothing(name: str, fortress: Any, victim: Any) -> None:
    number = list(BREAKS).index(name)
    how, mended = BREAKS[name]
    async with broken(fortress, how, mended):
        answers = [
            victim("PUT", f"/v1/recipients/hush-{number}-{twin}", {"email": JANE, "attributes": {"name": "hush"}})
            for twin in range(2)
        ]
    failed = [answer for answer in answers if answer.status_code == 500]
    assert failed, [answer.status_code for answer in answers]
    for answer in failed:
        assert answer.json()["code"] == "internal_error"
        assert "hush" not in answer.text
        fortress.eventually(lambda answer=answer: answer.json()["request_id"] in fortress.up.output)


async def test_what_the_database_itself_says_is_not_repeated(fortress: Any, victim: Any) -> None:
    """An error whose words hold the data, as drivers' do. PostgreSQL logs what it was told; nobody else does."""
    word = "whisper-4711"
    raising = (
        "create function whisper() returns trigger language plpgsql as $$ begin"
        " raise exception 'for %', new.external_id using detail = new.external_id, hint = new.external_id; end $$;"
        " create trigger whisper before insert on recipients for each row when (new.external_id like 'whisper%')"
        " execute function whisper()"
    )
    async with broken(fortress, raising, "drop trigger whisper on recipients; drop function whisper()"):
        for answer in (
            victim("PUT", f"/v1/recipients/{word}", {"email": JANE}),
            victim("POST", "/v1/notifications", {"to": {"id": word, "email": JANE}, "content": CONTENT}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
            assert word not in answer.text
    fortress.eventually(lambda: "RaiseError" in fortress.up.output)
    assert word not in fortress.up.output


RENDERING = {
    "a missing variable": {"subject": "{{ nothing_here }}", "text": "{{ name }}"},
    "an operation that does not fit": {"subject": "{{ name + 1 }}", "text": "t"},
    "a filter that fails": {"subject": "{{ name|batch }}", "text": "t"},
    "a filter that is not there": {"subject": "{{ name|hushed }}", "text": "t"},
    "an undefined attribute": {"subject": "{{ name.first.last }}", "text": "t"},
    "a division": {"subject": "{{ 1 // (name|length - name|length) }}", "text": "t"},
    "a subject of two lines": {"subject": "{{ name ~ '\n' ~ name }}", "text": "t"},
}


@pytest.mark.parametrize("name", RENDERING)
def test_a_renderer_s_error_tells_nothing(name: str, fortress: Any, victim: Any) -> None:
    answer = victim(
        "POST", "/v1/notifications", {"to": {"email": JANE}, "content": RENDERING[name], "variables": {"name": JANE}}
    )
    assert answer.status_code == 422
    assert JANE not in answer.text
    assert "hush.example" not in answer.text


def test_a_schema_s_error_tells_nothing(fortress: Any, victim: Any) -> None:
    victim.ok("POST", "/v1/templates", {"key": "strict", "name": "n", "category": "transactional"})
    schema = {
        "type": "object",
        "properties": {
            "who": {"type": "integer"}, "kind": {"enum": ["a"]}, "code": {"const": 1}, "short": {"maxLength": 1},
            "form": {"pattern": "^x$"}, "list": {"type": "array", "items": {"type": "integer"}},
            "inner": {"type": "object", "additionalProperties": False},
        },
    }  # fmt: skip
    words = {"subject": CONTENT["subject"], "body": "t", "format": "text"}
    victim.ok("POST", "/v1/templates/strict/email/versions", {"locales": {"en": words}, "variables_schema": schema})
    victim.ok("POST", "/v1/templates/strict/email/versions/1.0.0/publish")
    variables = {
        "who": JANE, "kind": JANE, "code": JANE, "short": JANE, "form": JANE, "list": [JANE], "inner": {JANE: JANE},
    }  # fmt: skip
    for path, body in (
        ("/v1/notifications", {"to": {"email": JANE}, "template": "strict", "variables": variables}),
        ("/v1/templates/strict/email/versions/1.0.0/preview", {"variables": variables}),
    ):
        answer = victim("POST", path, body)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_variables")
        assert len(answer.json()["errors"]) >= 7
        assert JANE not in answer.text


REFUSED: list[tuple[str, str, Any]] = [
    ("PUT", "/v1/recipients/hush", {"email": "jane@hush@hush.example"}),
    ("PUT", "/v1/recipients/hush", {"phone": "+hush"}),
    ("PUT", "/v1/recipients/hush", {"timezone": "hush"}),
    ("PUT", "/v1/recipients/hush", {"locale": "hush hush"}),
    ("PUT", "/v1/recipients/hush", {"kind": "hush"}),
    ("PUT", "/v1/recipients/hush", {"email": ["hush"]}),
    ("PUT", "/v1/recipients/hush%20hush", {"email": JANE}),
    ("POST", "/v1/suppressions", {"address": "hush"}),
    ("POST", "/v1/suppressions", {"address": JANE, "reason": "hush"}),
    ("POST", "/v1/notifications", {"to": "hush-unknown", "content": CONTENT}),
    ("POST", "/v1/notifications", {"to": {"email": "hush"}, "content": CONTENT}),
    ("POST", "/v1/notifications", {"to": {"email": JANE}, "template": "hush"}),
    ("POST", "/v1/notifications", {"to": {"email": JANE}, "content": CONTENT, "from": "hush"}),
    ("POST", "/v1/notifications", {"to": {"email": JANE}, "content": CONTENT, "cc": ["hush\r\n"]}),
    ("POST", "/v1/notifications", {"to": {"email": JANE}, "content": CONTENT, "headers": {"X-A": "hush\r\n"}}),
    ("POST", "/v1/notifications", {"to": {"email": JANE}, "content": CONTENT, "send_at": "hush"}),
    ("GET", "/v1/notifications?status=hush", None),
    ("GET", "/v1/notifications?cursor=hush", None),
    ("POST", "/v1/api-keys", {"name": "n", "scopes": ["hush"]}),
    ("POST", "/v1/templates", {"key": "HUSH", "name": "n", "category": "system"}),
    ("POST", "/v1/templates", b'{"key": "hush'),
    ("POST", "/v1/templates", b'{"hush": "\xff"}'),
]


@pytest.mark.parametrize("call", REFUSED, ids=range(len(REFUSED)))
def test_a_refusal_names_the_field_and_not_the_value(call: tuple[str, str, Any], victim: Any) -> None:
    answer = victim(*call)
    assert 400 <= answer.status_code < 500, answer.text
    assert "hush" not in answer.text.replace("/hush", ""), answer.text


async def test_what_is_raised_does_not_carry_the_data_in_its_words(api_work: PgWork, make_tenant: Any) -> None:
    await make_tenant("acme")

    async def dawdle() -> None:
        async with api_work.begin("acme") as tx:
            await tx.connection.execute("set local statement_timeout = 1")
            await tx.connection.fetchval("select pg_sleep(1), $1::text", JANE)

    with pytest.raises(Unavailable) as busy:
        await dawdle()
    assert JANE not in repr(busy.value) + str(busy.value) + json.dumps(busy.value.__dict__, default=repr)
    assert isinstance(busy.value, WaypostError)
