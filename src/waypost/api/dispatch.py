"""One request through one endpoint: who asks, what they may, what they sent, then the use case in one transaction."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import msgspec

from waypost.api.bulk_body import read_items
from waypost.api.cross_origin import shared_with
from waypost.api.endpoint import Call, Endpoint, Raw, Streamed, Versioned
from waypost.api.incoming import Incoming
from waypost.api.json_body import check_media_type, read_body, read_parameters
from waypost.api.outgoing import Answer, problem_answer
from waypost.api.problem import answer_of, internal_answer
from waypost.api.request_log import log_unexpected
from waypost.api.request_parts import bearer_of, expected_version_of, idempotency_key_of, query_of, tenant_of, token_of
from waypost.api.request_record import RequestRecord
from waypost.api.shapes import NoQuery
from waypost.api.upload_body import OptionsQuery, read_upload
from waypost.bootstrap import App
from waypost.inbox.visitors import claimed_tenant, visitor_scope
from waypost.kernel import ids
from waypost.kernel.errors import Forbidden, NotFound, WaypostError
from waypost.notifications.together import Asked
from waypost.tenants.idempotency import KeyedCall
from waypost.tenants.model import StoredAnswer

REPLAYED_HEADER: Final = "Idempotency-Replayed"
_NOTHING_HERE: Final = "Nothing here has this id."
_LONGEST_SEGMENT: Final = 256
_NOBODY_ELSE: Final[Mapping[str, str]] = {}


async def answered(endpoint: Endpoint, app: App, request: Incoming, record: RequestRecord) -> Answer:
    """Whatever happens is an answer."""
    by_key = endpoint.caller == "key"
    shared = _NOBODY_ELSE if by_key else shared_with(request.headers.get("origin"))
    serve = _serve_upload if endpoint.is_upload else _serve if by_key else _serve_visitor
    try:
        answer = await serve(endpoint, app, request, record)
    except WaypostError as refusal:
        if refusal.status == WaypostError.status:
            log_unexpected(refusal, record)
        answer = problem_answer(answer_of(refusal, record.request_id), record)
    except Exception as unexpected:
        log_unexpected(unexpected, record)
        answer = problem_answer(internal_answer(record.request_id), record)
    return replace(answer, headers={**shared, **answer.headers}) if shared else answer


async def _serve(endpoint: Endpoint, app: App, request: Incoming, record: RequestRecord) -> Answer:
    scope = await app.access.authenticate(bearer_of(request.headers), tenant_of(request.headers), record.request_id)
    record.tenant = scope.tenant_id
    record.key_id = ids.show("key", scope.key_id)
    if endpoint.permission is not None:
        scope.demand(endpoint.permission)
    raw = await request.body()
    body = _body_of(endpoint, request, raw)
    query = read_parameters(query_of(request.query_string), endpoint.query)
    expected = expected_version_of(request.headers) if endpoint.versioned else None
    key = idempotency_key_of(request.headers) if endpoint.method == "POST" else None
    fingerprint = b"" if key is None else _fingerprint(request, raw)
    route = f"{endpoint.method} {endpoint.path}"

    async def alone() -> Answer:
        async with app.work.begin(scope.tenant_id) as tx:
            if key is not None:
                stored = await app.idempotency.claim(tx, key, route, fingerprint)
                if stored is not None:
                    return _replayed(endpoint, stored.status, stored.body)
            call = Call(
                app=app,
                scope=scope,
                tx=tx,
                path=_path_of(request),
                body=body,
                query=query,
                expected_version=expected,
                idempotency_key=key,
            )
            answer = _formed(endpoint, await endpoint.run(call))
            if key is not None:
                await app.idempotency.keep(tx, key, answer.status, answer.body)
            return answer

    try:
        if (submits := endpoint.submits) is None:
            return await alone()
        given = await app.notifications.together(
            scope.tenant_id,
            alone,
            lambda: Asked(
                scope=scope,
                command=submits.command(body, key),
                route=route,
                call=None if key is None else KeyedCall(key=key, fingerprint=fingerprint),
                form=lambda accepted: _kept(_formed(endpoint, submits.show(accepted))),
            ),
        )
        if isinstance(given, Answer):
            return given
        return Answer(status=given.status, body=given.body, media_type=endpoint.media_type, headers={})
    except NotFound as missing:
        if missing.code != NotFound.default_code:
            raise
        # Unknown, foreign and malformed ids are answered alike, to the byte.
        raise NotFound(_NOTHING_HERE) from missing


async def _serve_upload(endpoint: Endpoint, app: App, request: Incoming, record: RequestRecord) -> Answer:
    """Brings a file, which is kept as it comes; the use case runs in one transaction once it is complete."""
    scope = await app.access.authenticate(bearer_of(request.headers), tenant_of(request.headers), record.request_id)
    record.tenant = scope.tenant_id
    record.key_id = ids.show("key", scope.key_id)
    if endpoint.permission is not None:
        scope.demand(endpoint.permission)
    query = read_parameters(query_of(request.query_string), OptionsQuery)
    key = idempotency_key_of(request.headers)
    upload = await app.imports.open_upload(scope)
    try:
        content_type = request.headers.get("content-type") or ""
        body = await read_upload(content_type, _pieces_of(request), upload, query.options, endpoint.body_shape)
        async with app.work.begin(scope.tenant_id) as tx:
            if key is not None:
                said = msgspec.json.encode(body.options) + upload.sha256.encode()
                stored = await app.idempotency.claim(
                    tx, key, f"{endpoint.method} {endpoint.path}", hashlib.sha256(said).digest()
                )
                if stored is not None:
                    await app.imports.abandon(upload)
                    return _replayed(endpoint, stored.status, stored.body)
            call = Call(app=app, scope=scope, tx=tx, path={}, body=body, query=NoQuery(), idempotency_key=key)
            answer = _formed(endpoint, await endpoint.run(call))
            if key is not None:
                await app.idempotency.keep(tx, key, answer.status, answer.body)
            return answer
    except BaseException:
        with suppress(Exception):
            await asyncio.shield(app.imports.abandon(upload))
        raise


async def _pieces_of(request: Incoming) -> AsyncIterator[bytes]:
    more = True
    while more:
        piece, more = await request.piece()
        yield piece


async def _serve_visitor(endpoint: Endpoint, app: App, request: Incoming, record: RequestRecord) -> Answer:
    """A recipient's own call. Who they are is proved inside the transaction in which they are served."""
    token = token_of(request.headers)
    raw = await request.body()
    record.tenant = tenant_id = claimed_tenant(token)
    if tenant_of(request.headers) not in (None, tenant_id):
        raise Forbidden("This token belongs to another tenant than Waypost-Tenant names.", code="other_tenant")
    try:
        async with app.work.begin(tenant_id) as tx:
            reading = endpoint.method == "GET"
            if endpoint.caller == "proof":
                visitor = await app.inbox.visitors.open_proof(tx, token)
            else:
                visitor = await app.inbox.visitors.open_in(tx, token, reading=reading)
            await app.inbox.visitors.check_origin(tx, request.headers.get("origin"), own=app.settings.api_url)
            call = Call(
                app=app,
                scope=visitor_scope(visitor, record.request_id),
                tx=tx,
                path=_path_of(request),
                body=_body_of(endpoint, request, raw),
                query=read_parameters(query_of(request.query_string), endpoint.query),
                visitor=visitor,
                last_event_id=request.headers.get("last-event-id"),
            )
            return _formed(endpoint, await endpoint.run(call))
    except NotFound as missing:
        if missing.code != NotFound.default_code:
            raise
        raise NotFound(_NOTHING_HERE) from missing


def _path_of(request: Incoming) -> Mapping[str, str]:
    for value in request.path.values():
        if len(value) > _LONGEST_SEGMENT or not value.isprintable():
            raise NotFound(_NOTHING_HERE)
    return request.path


def _body_of(endpoint: Endpoint, request: Incoming, raw: bytes) -> Any:
    if not raw and not endpoint.needs_body:
        return endpoint.body()
    if endpoint.is_bulk:
        return read_items(request.headers.get("content-type"), raw, endpoint.body_shape)
    check_media_type(request.headers.get("content-type"))
    return read_body(raw, endpoint.body)


def _fingerprint(request: Incoming, raw: bytes) -> bytes:
    """What makes two calls the same call. Keys are kept by tenant, so the tenant is not a part of it."""
    head = (request.method.encode(), request.raw_path, request.query_string, raw)
    return hashlib.sha256(b"\n".join(head)).digest()


def _formed(endpoint: Endpoint, given: object) -> Answer:
    headers: dict[str, str] = {}
    if isinstance(given, Versioned):
        headers["etag"] = f'"{given.version}"'
        given = given.body
    if isinstance(given, Raw):
        if given.is_download:
            headers["content-disposition"] = "attachment"
        return Answer(status=endpoint.status, body=given.content, media_type=given.media_type, headers=headers)
    if isinstance(given, Streamed):
        headers["content-disposition"] = "attachment"
        return Answer(status=endpoint.status, body=b"", media_type=given.media_type, headers=headers, parts=given.parts)
    body = b"" if given is None else msgspec.json.encode(given)
    return Answer(status=endpoint.status, body=body, media_type=endpoint.media_type, headers=headers)


def _kept(answer: Answer) -> StoredAnswer:
    return StoredAnswer(status=answer.status, body=answer.body)


def _replayed(endpoint: Endpoint, status: int, body: bytes) -> Answer:
    return Answer(status=status, body=body, media_type=endpoint.media_type, headers={REPLAYED_HEADER: "true"})
