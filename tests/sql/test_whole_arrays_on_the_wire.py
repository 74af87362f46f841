"""What the server makes of arrays that are written whole."""

from uuid import UUID

import asyncpg
import pytest

from waypost.adapters.postgres.work import PgWork

_ODD = ["", "NULL", "{}", '"', "\\", "a,b", "'", "ü", " ", None]


async def test_texts_arrive_one_by_one_as_they_are(api_work: PgWork) -> None:
    async with api_work.begin("acme") as tx:
        rows = await tx.connection.fetch("select one from unnest($1::text[]) as one", _ODD)
        whole = await tx.connection.fetchval("select $1::text[]", _ODD)
    assert [row["one"] for row in rows] == whole == _ODD


async def test_ids_and_bytes_arrive_one_by_one_as_they_are(api_work: PgWork) -> None:
    ids = [UUID(int=number) for number in range(700)]
    pieces = [bytes(range(256)) * (number % 7) for number in range(700)]
    async with api_work.begin("acme") as tx:
        rows = await tx.connection.fetch("select * from unnest($1::uuid[], $2::bytea[]) as t (id, piece)", ids, pieces)
        empty = await tx.connection.fetchval("select cardinality($1::uuid[]) + cardinality($2::bytea[])", [], ())
        nothing = await tx.connection.fetchval("select $1::uuid[] is null", None)
    assert [(row["id"], row["piece"]) for row in rows] == list(zip(ids, pieces, strict=True))
    assert (empty, nothing) == (0, True)


async def test_numbers_arrive_one_by_one_as_they_are(api_work: PgWork) -> None:
    numbers = [0, 1, -1, (1 << 31) - 1, -(1 << 31)]
    async with api_work.begin("acme") as tx:
        rows = await tx.connection.fetch("select one from unnest($1::int4[]) as one", numbers)
        whole = await tx.connection.fetchval("select $1::int4[]", [*numbers, None])
        empty = await tx.connection.fetchval("select $1::int4[]", [])
        again = await tx.connection.fetchval("select array_agg(one) from unnest($1::int4[]) as one", numbers)
        for stranger in ([1 << 31], ["7"], [7.5]):
            with pytest.raises(asyncpg.DataError):
                await tx.connection.fetchval("select $1::int4[]", stranger)
    assert [row["one"] for row in rows] == numbers
    assert whole == [*numbers, None]
    assert (empty, again) == ([], numbers)


async def test_what_is_no_array_never_reaches_the_server(api_work: PgWork) -> None:
    async with api_work.begin("acme") as tx:
        for stranger in ("abc", [7], 7):
            with pytest.raises(asyncpg.DataError):
                await tx.connection.fetchval("select $1::text[]", stranger)
        assert await tx.connection.fetchval("select 1") == 1
