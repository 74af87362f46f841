"""The OpenAPI document, made from the declarations of the endpoints: it cannot say more or less than they do."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from waypost import __version__
from waypost.api.bulk_body import MOST_ITEMS, NDJSON
from waypost.api.endpoint import Endpoint
from waypost.api.problem import MEDIA_TYPE as PROBLEM_MEDIA_TYPE
from waypost.api.problem import Problem
from waypost.api.refusals import refusals_of
from waypost.api.request_log import REQUEST_ID_HEADER
from waypost.kernel.tenancy import Permission

Json = dict[str, Any]

PUBLIC_PATHS: Final = ("/healthz", "/readyz", "/openapi.json")
_SCHEMAS: Final = "#/components/schemas/{name}"
_TITLES: Final = {
    200: "Done.",
    201: "Made.",
    202: "Accepted: stored, and on its way.",
    204: "Done; there is nothing to say.",
    400: "The request cannot be read.",
    401: "No valid key.",
    403: "The key may not do this.",
    404: "There is no such thing, or it belongs to another tenant.",
    408: "The body came too slowly.",
    409: "The state of things does not allow it.",
    412: "It was changed meanwhile: read it again.",
    413: "The body is too large.",
    415: "The body is not plain JSON.",
    422: "Some fields must be mended; `errors` names each.",
    429: "Too many requests at a time; wait as long as Retry-After says.",
    500: "Our fault.",
    503: "Try again, with the same Idempotency-Key.",
}
_PATH_PARAMETERS: Final[Mapping[str, str]] = {
    "id": "The id, as it was given.",
    "key": "The key of a template or a topic.",
    "tag": "A tag, as it was given.",
    "channel": "The channel, such as `email`.",
    "semver": "The version, such as `1.0.0`.",
    "delivery_id": "The id of a delivery, `whd_…`.",
    "address_id": "The address's id, `adr_…`.",
    "inbox": "The inbox's key, such as `main`.",
    "post": "The post's id, `pst_…`.",
}


_NEEDS: Final = {
    "key": "Needs a key, with any scope.",
    "recipient": "Needs a recipient's token.",
    "proof": "Needs an id with its proof.",
}


def document(endpoints: Sequence[Endpoint]) -> bytes:
    """The whole document as JSON."""
    schemas = _Schemas(endpoints)
    paths: dict[str, Json] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    paths |= _public_operations()
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Waypost",
                "version": __version__,
                "summary": "Decides who is reached, sends it, and proves what happened.",
                "description": _DESCRIPTION,
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "security": [{"key": []}],
            "tags": [{"name": area} for area in dict.fromkeys(endpoint.area for endpoint in endpoints)],
            "paths": paths,
            "components": {
                "securitySchemes": {
                    "key": {
                        "type": "http",
                        "scheme": "bearer",
                        "description": "An API key: `Authorization: Bearer wp_test_…`. Its scopes say what it may do: "
                        + ", ".join(f"`{permission.value}`" for permission in Permission)
                        + ".",
                    },
                    "recipient": {
                        "type": "http",
                        "scheme": "bearer",
                        "description": "A recipient's token, `Authorization: Bearer wpr_…`, from "
                        "`POST /v1/recipients/{id}/token` or `POST /v1/me/token`.",
                    },
                },
                "schemas": schemas.components,
            },
        }
    )


_DESCRIPTION: Final = (
    "Every answer names its request in the header `Waypost-Request-Id`. Every error is `application/problem+json` with "
    "a stable `code`. Every POST takes an `Idempotency-Key`: the same call again has no second effect and gets the "
    "same answer, for 24 hours. Lists answer `items` and `next`, the cursor of the following page. Times are RFC 3339 "
    "in UTC."
)


class _Schemas:
    """Schemas of all shapes that the endpoints mention."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        shapes: list[type[Any]] = [Problem]
        for endpoint in endpoints:
            shapes += [endpoint.body_shape, endpoint.query]
            if endpoint.answer is not None:
                shapes.append(endpoint.answer)
        unique = list(dict.fromkeys(shapes))
        found, components = msgspec.json.schema_components(unique, ref_template=_SCHEMAS)
        found, components = _renamed((found, components))
        self._by_shape = dict(zip(unique, found, strict=True))
        self._all = components
        queries = {endpoint.query for endpoint in endpoints}
        bodies = {endpoint.body_shape for endpoint in endpoints} | {endpoint.answer for endpoint in endpoints}
        unseen = {self._name(query) for query in queries - bodies}
        self.components = {name: schema for name, schema in sorted(components.items()) if name not in unseen}

    def of(self, shape: type[Any]) -> Json:
        return self._by_shape[shape]

    def fields_of(self, shape: type[Any]) -> Json:
        return self._all[self._name(shape)]

    def _name(self, shape: type[Any]) -> str:
        return self._by_shape[shape]["$ref"].rpartition("/")[2]


def _renamed(schemas: Any) -> Any:
    """`Listing_TenantView_` becomes `TenantList`, `TenantView` becomes `Tenant`: readers do not know our classes."""
    text = msgspec.json.encode(schemas).decode()
    text = re.sub(r"\bListing_(\w+?)(?:View)?_\b", r"\1List", text)
    text = re.sub(r"Listing\[(\w+?)(?:View)?\]", r"\1List", text)
    return msgspec.json.decode(re.sub(r"\b([A-Z]\w+)View\b", r"\1", text))


def _operation(endpoint: Endpoint, schemas: _Schemas) -> Json:
    scopes = [endpoint.permission.value] if endpoint.permission else []
    needs = f"Needs the scope `{scopes[0]}`." if scopes else _NEEDS[endpoint.caller]
    operation: Json = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "description": f"{endpoint.description} {needs}".strip(),
        "tags": [endpoint.area],
        "security": [{"key" if endpoint.caller == "key" else "recipient": []}],
        "x-scopes": scopes,
        "parameters": [
            *_path_parameters(endpoint),
            *_query_parameters(endpoint, schemas),
            *_header_parameters(endpoint),
        ],
        "responses": _responses(endpoint, schemas),
    }
    if endpoint.audited:
        operation["x-audited"] = True
    if endpoint.takes_body or endpoint.method == "POST":
        operation["requestBody"] = {"required": endpoint.needs_body, "content": _request_content(endpoint, schemas)}
    return operation


def _request_content(endpoint: Endpoint, schemas: _Schemas) -> Json:
    content: Json = {"schema": schemas.of(endpoint.body_shape)}
    if endpoint.body_example is not None:
        content["example"] = endpoint.body_example
    if endpoint.is_upload:
        form: Json = {
            "type": "object",
            "properties": {"options": content["schema"], "file": {"type": "string", "format": "binary"}},
            "required": ["file"],
        }
        return {"multipart/form-data": {"schema": form}, "text/csv": {"schema": {"type": "string"}}}
    if not endpoint.is_bulk:
        return {"application/json": content}
    many: Json = {"schema": {"type": "array", "items": content["schema"], "minItems": 1, "maxItems": MOST_ITEMS}}
    lines: Json = {"schema": {"type": "string", "description": "One JSON object per line, each as in the array."}}
    if endpoint.body_example is not None:
        many["example"] = [endpoint.body_example]
        lines["example"] = msgspec.json.encode(endpoint.body_example).decode() + "\n"
    return {"application/json": many, NDJSON: lines}


def _path_parameters(endpoint: Endpoint) -> list[Json]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PATH_PARAMETERS[name],
            "schema": {"type": "string"},
        }
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]


def _query_parameters(endpoint: Endpoint, schemas: _Schemas) -> list[Json]:
    fields = schemas.fields_of(endpoint.query)
    return [
        {
            "name": name,
            "in": "query",
            "required": name in fields.get("required", ()),
            "description": _about(schema),
            "schema": schema,
        }
        for name, schema in fields.get("properties", {}).items()
    ]


def _about(schema: Json) -> str:
    described = [schema, *schema.get("anyOf", ())]
    return next((one["description"] for one in described if "description" in one), "")


def _header_parameters(endpoint: Endpoint) -> list[Json]:
    if endpoint.caller != "key":
        return []
    headers = [_header("Waypost-Tenant", "The tenant that a platform key with the scope `tenants:act` acts for.")]
    if endpoint.method == "POST":
        headers.append(_header("Idempotency-Key", "Makes the call safe to repeat: it happens once. Kept for 24 hours."))
    if endpoint.versioned and endpoint.method != "GET":
        headers.append(_header("If-Match", "The ETag of what you changed; refused with 412 when it is another by now."))
    return headers


def _header(name: str, description: str) -> Json:
    return {"name": name, "in": "header", "required": False, "description": description, "schema": {"type": "string"}}


def _responses(endpoint: Endpoint, schemas: _Schemas) -> Json:
    responses: Json = {str(endpoint.status): _success(endpoint, schemas)}
    for status, codes in sorted(refusals_of(endpoint).items()):
        listed = ", ".join(f"`{code}`" for code in codes)
        response: Json = {
            "description": f"{_TITLES[status]} Codes: {listed}.",
            "x-codes": list(codes),
            "headers": {REQUEST_ID_HEADER: _shown_header("The id of this request.")},
            "content": {PROBLEM_MEDIA_TYPE: {"schema": schemas.of(Problem)}},
        }
        if status in (429, 503):
            response["headers"]["Retry-After"] = _shown_header("Seconds to wait before trying again.")
        responses[str(status)] = response
    return responses


def _success(endpoint: Endpoint, schemas: _Schemas) -> Json:
    headers = {REQUEST_ID_HEADER: _shown_header("The id of this request.")}
    if endpoint.versioned:
        headers["ETag"] = _shown_header("The version, for If-Match.")
    if endpoint.method == "POST":
        headers["Idempotency-Replayed"] = _shown_header("`true` where this is the stored answer of an earlier call.")
    response: Json = {"description": _TITLES[endpoint.status], "headers": headers}
    if endpoint.answer is not None:
        content: Json = {"schema": schemas.of(endpoint.answer)}
        if endpoint.answer_example is not None:
            content["example"] = endpoint.answer_example
        response["content"] = {endpoint.media_type: content}
    elif endpoint.status != 204:
        response["content"] = {endpoint.media_type: {"schema": {"type": "string", "format": "binary"}}}
    return response


def _shown_header(description: str) -> Json:
    return {"description": description, "schema": {"type": "string"}}


def _public_operations() -> dict[str, Json]:
    said = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
    ready: Json = {
        "200": {"description": "It works.", "content": {"application/json": {"schema": said}}},
        "503": {
            "description": "The database cannot be reached, or its schema does not fit this code.",
            "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": _SCHEMAS.format(name="Problem")}}},
            "x-codes": ["not_ready"],
        },
    }
    return {
        "/healthz": {"get": _public("healthz", "Whether the process lives", {"200": ready["200"]})},
        "/readyz": {"get": _public("readyz", "Whether the process can serve", ready)},
        "/openapi.json": {
            "get": _public(
                "openapi",
                "This document",
                {
                    "200": {
                        "description": "The OpenAPI document.",
                        "content": {"application/json": {"schema": {"type": "object"}}},
                    }
                },
            )
        },
    }


def _public(name: str, summary: str, responses: Json) -> Json:
    return {"operationId": name, "summary": summary, "tags": ["operations"], "security": [], "responses": responses}
