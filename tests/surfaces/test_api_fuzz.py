"""Schemathesis reads our OpenAPI document and tries to break the API with it."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from waypost.api.app import create_app
from waypost.api.limits import Limits

# It does not know how lines of JSON are written: as the text they are.
_RUN = """
import sys
from schemathesis import serializer
from schemathesis.cli import schemathesis
serializer.alias("application/x-ndjson", "text/plain")
sys.exit(schemathesis())
"""
CHECKS = "not_a_server_error,response_schema_conformance,status_code_conformance,content_type_conformance"


@pytest.mark.timeout(600)
async def test_a_stranger_with_our_document_cannot_break_anything(serving: Any, acme: Any, tmp_path: Path) -> None:
    async with serving(create_app(acme.app, limits=Limits())) as port:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _RUN,
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
