"""Schemathesis reads our OpenAPI document and tries to break the API with it."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from waypost.api.app import create_app
from waypost.api.limits import Limits

CHECKS = "not_a_server_error,response_schema_conformance,status_code_conformance,content_type_conformance"


@pytest.mark.timeout(180)
async def test_a_stranger_with_our_document_cannot_break_anything(serving: Any, acme: Any, tmp_path: Path) -> None:
    async with serving(create_app(acme.app, limits=Limits())) as port:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())",
            "run",
            f"http://127.0.0.1:{port}/openapi.json",
            "--header",
            f"Authorization: Bearer {acme.key}",
            "--checks",
            CHECKS,
            "--phases",
            "examples,coverage,fuzzing",
            "--max-examples",
            "5",
            "--generation-deterministic",
            "--no-color",
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()[-4000:]
    assert b"passed" in said
