"""A token has one spelling, and only its tenant's key of its own purpose makes it genuine."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.vault.keyring import OpenTenantKey
from waypost.kernel import tokens
from waypost.kernel.tokens import LONGEST_TOKEN, MOST_AUDIENCE, MOST_SUBJECT, Purpose, Token

ACME = OpenTenantKey(b"a" * 32)
GLOBEX = OpenTenantKey(b"g" * 32)

moments = st.none() | st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2199, 1, 1)).map(  # noqa: DTZ001
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
)
made = st.builds(
    Token,
    purpose=st.sampled_from(Purpose),
    tenant_id=st.from_regex(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", fullmatch=True),
    subject=st.binary(max_size=MOST_SUBJECT),
    audience=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=MOST_AUDIENCE),
    expires_at=moments,
)


@given(made)
def test_what_was_written_is_read_back_and_genuine(token: Token) -> None:
    text = tokens.write(token, ACME)
    claim = tokens.read(text)
    assert claim is not None
    assert claim.token == token
    assert claim.is_genuine(ACME)
    assert not claim.is_genuine(GLOBEX)
    assert len(text) <= LONGEST_TOKEN


@given(made, st.data())
def test_no_changed_character_is_ever_genuine(token: Token, data: st.DataObject) -> None:
    text = tokens.write(token, ACME)
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ ."))
    altered = text[:place] + letter + text[place + 1 :]
    claim = tokens.read(altered)
    assert altered == text or claim is None or not claim.is_genuine(ACME)


@given(made, st.sampled_from(["=", "==", " ", "\n", "A", "\x00", "é"]))
def test_there_is_one_spelling_only(token: Token, tail: str) -> None:
    text = tokens.write(token, ACME)
    claim = tokens.read(text + tail)
    assert claim is None or not claim.is_genuine(ACME)
    assert tokens.read(text.replace("-", "+").replace("_", "/")) is None or not set("-_") & set(text)


@given(st.text(max_size=600) | st.binary(max_size=500).map(tokens.spell))
def test_any_text_may_be_read(text: str) -> None:
    claim = tokens.read(text)
    assert claim is None or not claim.is_genuine(ACME)


def test_what_was_signed_in_the_past_is_genuine_for_ever() -> None:
    raw = tokens.unspell(tokens.write(_token(Purpose.UNSUBSCRIBE), ACME), longest=LONGEST_TOKEN)
    assert raw is not None
    body = b"\1" + raw[1:-16]
    old = tokens.read(tokens.spell(body + ACME.sign("token-unsubscribe", body)[:16]))
    assert old is not None
    assert (old.token, old.is_genuine(ACME), old.is_genuine(GLOBEX)) == (_token(Purpose.UNSUBSCRIBE), True, False)
    for proof in (raw[-16:], ACME.proves("token-unsubscribe")(body), ACME.sign("token-open", body)[:16]):
        mixed = tokens.read(tokens.spell(body + proof))
        assert mixed is not None
        assert not mixed.is_genuine(ACME)


@pytest.mark.parametrize("purpose", list(Purpose))
def test_a_proof_made_for_one_purpose_proves_no_other(purpose: Purpose) -> None:
    raw = tokens.unspell(tokens.write(_token(Purpose.UNSUBSCRIBE), ACME), longest=LONGEST_TOKEN)
    assert raw is not None
    claim = tokens.read(tokens.spell(raw[:1] + bytes((purpose,)) + raw[2:]))
    assert claim is not None
    assert claim.is_genuine(ACME) == (purpose is Purpose.UNSUBSCRIBE)


def test_what_does_not_fit_is_never_signed() -> None:
    with pytest.raises(ValueError, match="fit"):
        tokens.write(_token(subject=b"x" * (MOST_SUBJECT + 1)), ACME)
    with pytest.raises(ValueError, match="fit"):
        tokens.write(_token(audience="x" * (MOST_AUDIENCE + 1)), ACME)


def _token(purpose: Purpose = Purpose.RECIPIENT, *, subject: bytes = b"ada", audience: str = "") -> Token:
    ends = datetime(2026, 1, 15, tzinfo=UTC) + timedelta(hours=1)
    return Token(purpose=purpose, tenant_id="acme", subject=subject, audience=audience, expires_at=ends)
