"""What it takes to open a way out: each fault is named by its field."""

import pytest

from waypost.senders.connection import AccountConnection, AccountKind, AuthMode, faults_of


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"host": ""}, "/host"),
        ({"host": "smtp://x.example"}, "/host"),
        ({"host": "x y"}, "/host"),
        ({"host": "a." * 200}, "/host"),
        ({"port": -1}, "/port"),
        ({"port": 70_000}, "/port"),
        ({"helo_name": "nodots"}, "/helo_name"),
        ({"helo_name": "a.b\r\nQUIT"}, "/helo_name"),
        ({"username": "x"}, "/username"),
        ({"secret": "x"}, "/secret"),
        ({"subject": "a@b.c"}, "/subject"),
        ({"auth": AuthMode.PLAIN, "secret": "x"}, "/username"),
        ({"auth": AuthMode.PLAIN, "username": "x"}, "/secret"),
        ({"auth": AuthMode.PLAIN, "username": "x\0", "secret": "x"}, "/username"),
        ({"auth": AuthMode.PLAIN, "username": "x", "secret": "x\r\n"}, "/secret"),
        ({"auth": AuthMode.PLAIN, "username": "x", "secret": "x", "subject": "a@b.c"}, "/subject"),
        ({"auth": AuthMode.XOAUTH2, "username": "x", "secret": "{}"}, "/secret"),
        ({"max_connections": 101}, "/max_connections"),
        ({"messages_per_connection": 10_001}, "/messages_per_connection"),
    ],
)
def test_each_fault_is_named_by_its_field(change: dict[str, object], pointer: str) -> None:
    connection = AccountConnection(**{"kind": AccountKind.SMTP, "host": "smtp.example.com"} | change)
    assert [fault.pointer for fault in faults_of(connection, pointer="/smtp")] == [f"/smtp{pointer}"]


@pytest.mark.parametrize("host", ["smtp.example.com", "localhost", "192.0.2.1", "2001:db8::1", "xn--bcher-kva.example"])
def test_hosts_that_can_be(host: str) -> None:
    assert list(faults_of(AccountConnection(kind=AccountKind.SMTP, host=host))) == []
