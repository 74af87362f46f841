"""Connections of sender accounts: what is refused at the door, what a trial says, and that no secret is ever shown."""

import json
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from waypost.channels.model import OutcomeReason
from waypost.kernel.errors import Refused
from waypost.senders.connection import AccountConnection, AccountKind, AuthMode


async def test_a_trial_asks_google_for_a_token_and_sends_nothing(google, vendors, account) -> None:
    trial = await vendors.test(account, trusted=False)
    assert (trial.ok, trial.reason, trial.encrypted) == (True, None, True)
    assert [asked.path for asked in google.peer.asked] == ["/token"]
    stranger = replace(account, subject="someone.else@example.com")
    trial = await vendors.test(stranger, trusted=False)
    assert (trial.ok, trial.reason) == (False, OutcomeReason.AUTHENTICATION)
    assert "unauthorized_client" in (trial.reply or "")


async def test_a_key_that_is_not_the_accounts_is_refused_by_google(google, vendors, account, key_file) -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa

    other = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    forged = replace(account, secret=json.dumps(key_file | {"private_key": other.decode()}))
    trial = await vendors.test(forged, trusted=False)
    assert (trial.ok, trial.reason) == (False, OutcomeReason.AUTHENTICATION)
    assert "Invalid JWT Signature" in (trial.reply or "")


def elliptic() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": "authorized_user"}, "`type`"),
        ({"client_email": "nobody"}, "`client_email`"),
        ({"private_key": "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n"}, "`private_key`"),
        ({"private_key": "secret"}, "`private_key`"),
        ({"private_key_id": "a b"}, "`private_key_id`"),
        ({"private_key": None}, "JSON"),
    ],
)
def test_a_key_file_is_checked_at_the_door(vendors, account, key_file, change: dict[str, object], words: str) -> None:
    faulty = replace(account, secret=json.dumps(key_file | change))
    (fault,) = vendors.faults_of(faulty, pointer="/connection")
    assert (fault.pointer, fault.code) == ("/connection/secret", "invalid_service_account")
    assert words in fault.message
    with pytest.raises(Refused):
        vendors.open(faulty, trusted=False)


def test_a_key_that_cannot_sign_is_refused_at_the_door(vendors, account, key_file) -> None:
    for pem in (elliptic(), key_file["private_key"][:200] + key_file["private_key"][300:]):
        faulty = replace(account, secret=json.dumps(key_file | {"private_key": pem}))
        assert [fault.pointer for fault in vendors.faults_of(faulty)] == ["/secret"]


async def test_a_key_that_cannot_sign_sends_nothing(google, vendors, account, key_file, noted, letter) -> None:
    """Should one lie in the store all the same."""
    lines = key_file["private_key"].splitlines()
    pem = "\n".join([*lines[:5], "A" * 64, *lines[6:]])
    faulty = replace(account, secret=json.dumps(key_file | {"private_key": pem}))
    sender, wire = vendors.open(faulty, trusted=False), noted()
    outcomes = await sender.send([letter(), letter()], wire)
    assert {outcome.reason for outcome in outcomes} == {OutcomeReason.AUTHENTICATION}
    assert (wire.went, google.peer.asked) == ([], [])
    await sender.close()


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"host": "smtp.example.com"}, "/host"),
        ({"port": 25}, "/port"),
        ({"username": "x"}, "/username"),
        ({"auth": AuthMode.PLAIN}, "/auth"),
        ({"subject": ""}, "/subject"),
        ({"subject": "nobody"}, "/subject"),
        ({"secret": ""}, "/secret"),
        ({"secret": "x" * 20_000}, "/secret"),
        ({"max_connections": 0}, "/max_connections"),
        ({"messages_per_connection": 0}, "/messages_per_connection"),
    ],
)
def test_each_field_is_refused_by_its_name(vendors, account, change: dict[str, object], pointer: str) -> None:
    assert [fault.pointer for fault in vendors.faults_of(replace(account, **change))] == [pointer]


def test_no_secret_is_shown(vendors, account, key_file) -> None:
    shown = repr(account) + repr(vendors.open(account, trusted=False))
    assert key_file["private_key"][40:80] not in shown
    assert "hunter2" not in repr(AccountConnection(kind=AccountKind.SMTP, secret="hunter2", host="x"))
