import pytest

from waypost.adapters.postgres.queries import StatementError, load, parse

GOOD = """-- A heading is a comment before the first name.

-- name: one
-- tenant: row
-- Finds one.
select 1;

-- name: two
-- tenant: all belongs to no tenant
-- Finds two,
-- on two lines.
do $$ begin perform 1; perform 2; end $$
"""


def test_reads_each_statement_with_its_tenancy_and_reason():
    statements = parse("things", GOOD)
    assert list(statements) == ["one", "two"]
    assert statements["one"] == "/* things.one */ select 1"
    assert statements.described["one"].tenancy == "row"
    assert statements.described["two"].tenancy == "all belongs to no tenant"
    assert statements.described["two"].why == "Finds two, on two lines."


def test_an_unknown_name_is_a_key_error():
    with pytest.raises(KeyError):
        parse("things", GOOD)["three"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("select 1;", "has no name"),
        ("-- tenant: row\n-- Why.\nselect 1;\n-- name: a\n-- tenant: row\n-- Why.\nselect 1", "has no name"),
        ("-- name: a\n-- Why.\nselect 1", "tenant: row"),
        ("-- name: a\n-- tenant: mine\n-- Why.\nselect 1", "tenant: row"),
        ("-- name: a\n-- tenant: all\n-- Why.\nselect 1", "tenant: row"),
        ("-- name: a\n-- tenant: all  \n-- Why.\nselect 1", "tenant: row"),
        ("-- name: a", "tenant: row"),
        ("-- name: a\n-- tenant: row\nselect 1", "in a sentence"),
        ("-- name: a\n-- tenant: row\n-- why\nselect 1", "in a sentence"),
        ("-- name: a\n-- tenant: row\n--\nselect 1", "in a sentence"),
        ("-- name: a\n-- tenant: row\n-- Why.\n", "no statement"),
        ("-- name: a\n-- tenant: row\n-- Why.\n;", "no statement"),
        ("-- name: A b\n-- tenant: row\n-- Why.\nselect 1", "lower case"),
        ("-- name: a\n-- tenant: row\n-- Why.\nselect 1;\nselect 2", "second statement"),
        ("-- name: a\n-- tenant: row\n-- Why.\nselect 1\n-- tenant: row\n-- Why.\nselect 2", "second statement"),
        ("-- name: a\n-- tenant: row\n-- Why.\nselect 1\n-- name: a\n-- tenant: row\n-- Why.\nselect 1", "twice"),
    ],
)
def test_refuses_what_does_not_say_its_name_tenancy_or_reason(text: str, complaint: str):
    with pytest.raises(StatementError, match=complaint):
        parse("things", text)


def test_a_semicolon_in_a_string_or_comment_is_no_second_statement():
    text = "-- name: a\n-- tenant: row\n-- Why.\nselect ';', $x$;$x$ -- ;\n"
    assert "select ';'" in parse("things", text)["a"]


def test_the_shipped_statements_load():
    assert load("work")["enter_tenant"].endswith("select set_config('app.tenant_id', $1, true)")
