"""Every operation of the served OpenAPI document, with whatever fits or does not fit its description.

No answer is a 5xx, none is undocumented, and each has the shape that the document promises.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.generation.modes import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = 4


# Lines of JSON are sent as the text they are.
schemathesis.serializer.alias("application/x-ndjson", "text/plain")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_answer_is_undocumented_or_a_server_error(mode: GenerationMode, fortress: Any) -> None:
    schema = schemathesis.openapi.from_dict(fortress.openapi)
    tenant = fortress.tenant(f"openapi-{mode.name.lower()}", mode="sandbox")
    codes: Counter[int] = Counter()
    for found in schema.get_all_operations():
        operation = found.ok()
        attack = attack_on(operation, mode, fortress, tenant, codes)
        with suppress(Unsatisfiable):  # where nothing is taken, nothing can misfit
            attack()
    assert codes.total() > 100
    assert max(codes) < 500
    assert any(code >= 400 for code in codes)
    assert mode is GenerationMode.NEGATIVE or any(code < 300 for code in codes)


def attack_on(
    operation: Any, mode: GenerationMode, fortress: Any, tenant: Any, codes: Counter[int]
) -> Callable[[], None]:
    raw = operation.definition.raw
    caller = fortress.platform if fortress.is_platforms(raw) else tenant

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def attack(case: Any) -> None:
        # Who calls, and for whom, is said here; test_path_matrix.py plays with that.
        case.headers.pop("Waypost-Tenant", None)
        answer = case.call(base_url=fortress.url, headers={"Authorization": f"Bearer {caller.key}"})
        codes[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            problem = answer.json()
            documented = raw["responses"][str(answer.status_code)]["x-codes"]
            assert problem["code"] in documented, (raw["operationId"], problem)

    return attack
