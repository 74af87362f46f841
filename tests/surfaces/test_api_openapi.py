"""The OpenAPI document says exactly what the endpoints declare, and its examples are true."""

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest

from waypost.api.app import ALL_ENDPOINTS as ENDPOINTS
from waypost.api.endpoint import Endpoint
from waypost.api.notification_shapes import STATES, StateWord
from waypost.api.openapi import document
from waypost.api.refusals import refusals_of
from waypost.api.shapes import CategoryWord, ChannelWord, PriorityWord
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, PRIORITIES

DOCUMENT: dict[str, Any] = json.loads(document(ENDPOINTS))
EVERY = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: f"{endpoint.method} {endpoint.path}")


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    return DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]


def _everything(node: object) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from _everything(child)
    elif isinstance(node, list):
        for child in node:
            yield from _everything(child)


@EVERY
def test_every_operation_says_what_it_does_and_what_it_needs(endpoint: Endpoint) -> None:
    operation = _operation(endpoint)
    assert operation["summary"]
    assert len(operation["description"]) > len("Needs the scope ``.")
    assert operation["operationId"] == endpoint.name
    assert operation["security"] == [{"key" if endpoint.caller == "key" else "recipient": []}]
    assert set(operation["x-scopes"]) <= {permission.value for permission in Permission}
    assert {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"} == set(
        re.findall(r"{(\w+)}", endpoint.path)
    )


@EVERY
def test_every_operation_lists_its_refusals_with_their_codes(endpoint: Endpoint) -> None:
    responses = _operation(endpoint)["responses"]
    assert {"400", "401", "403", "429", "500", "503"} <= set(responses)
    assert ("not_found" in responses["404"]["x-codes"]) == ("{" in endpoint.path)
    assert "409" in responses or endpoint.method != "POST"
    assert "412" in responses or not (endpoint.versioned and endpoint.method != "GET")
    for status, codes in refusals_of(endpoint).items():
        assert responses[str(status)]["x-codes"] == list(codes)


@EVERY
def test_examples_are_true(endpoint: Endpoint) -> None:
    if endpoint.takes_body:
        assert endpoint.body_example is not None
        msgspec.convert(endpoint.body_example, endpoint.body_shape)
    if endpoint.answer is not None and endpoint.answer_example is not None:
        shown = msgspec.convert(endpoint.answer_example, endpoint.answer)
        assert msgspec.to_builtins(shown) == endpoint.answer_example


def test_operation_ids_are_unique_and_paths_do_not_collide() -> None:
    assert len({endpoint.name for endpoint in ENDPOINTS}) == len(ENDPOINTS)
    assert len({(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}) == len(ENDPOINTS)


def test_every_reference_resolves_and_no_schema_is_left_over() -> None:
    named = {node["$ref"].rpartition("/")[2] for node in _everything(DOCUMENT) if "$ref" in node}
    assert named == set(DOCUMENT["components"]["schemas"])


def test_every_shape_is_closed() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False, name
        assert not name.endswith("View"), name


def test_times_say_that_they_are_times() -> None:
    for title, schema in DOCUMENT["components"]["schemas"].items():
        for name, field in schema.get("properties", {}).items():
            # A trigger's `at` is a time of day.
            if name.endswith("_at") or (name == "at" and "Trigger" not in title):
                forms = [field, *field.get("anyOf", ())]
                assert any(form.get("format") == "date-time" for form in forms), name


def test_every_change_besides_a_send_is_audited() -> None:
    silent = {
        endpoint.name
        for endpoint in ENDPOINTS
        if endpoint.method in {"POST", "PUT", "PATCH", "DELETE"} and not endpoint.audited and endpoint.caller == "key"
    }
    assert silent == {
        "post_message",
        "issue_token",
        "send_notification",
        "send_notifications",
        "send_event",
        "send_events",
        "redrive_event",
        "report_seen",
        "cancel_timer",
        "cancel_notification",
        "cancel_request",
        "resend_notification",
        "preview_version",
        "preview_unsaved",
        "lint_version",
        "verify_erasure",
        "explain",
    }


def test_the_words_are_the_vocabulary_s() -> None:
    assert set(get_args(ChannelWord)) == CHANNELS.keys()
    assert set(get_args(CategoryWord)) == CATEGORIES.keys()
    assert set(get_args(PriorityWord)) == PRIORITIES.keys()
    assert set(get_args(StateWord)) == STATES.keys()


def test_public_paths_need_no_key() -> None:
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert DOCUMENT["paths"][path]["get"]["security"] == []


def test_others_can_read_the_document() -> None:
    import schemathesis

    schema = schemathesis.openapi.from_dict(DOCUMENT)
    schema.validate()
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == len(ENDPOINTS) + 3


@EVERY
def test_every_list_says_whether_there_is_more(endpoint: Endpoint) -> None:
    shape = endpoint.answer
    if endpoint.method != "GET" or not isinstance(shape, type) or not issubclass(shape, msgspec.Struct):
        return
    names = {one.name for one in msgspec.structs.fields(shape)}
    assert "items" not in names or "next" in names
