"""Brokers of the settings: read, at most one of each kind, and never shown."""

import pytest

from waypost.bootstrap import publishers
from waypost.bootstrap.publishers import publishers_of
from waypost.kernel.errors import Misconfigured
from waypost.settings import Secret, Settings, load


def named(*urls: str) -> list[str]:
    return [publisher.name for publisher in publishers_of(Settings(publish=Secret(",".join(urls))))]


def test_brokers_are_known_by_their_scheme() -> None:
    assert publishers_of(Settings()) == []
    assert named("nats://n:4222", "rediss://:word@r:6379/0?stream=x") == ["nats", "redis"]


def test_two_of_a_kind_are_refused() -> None:
    with pytest.raises(Misconfigured, match="two brokers"):
        named("redis://a", "redis://b")


def test_a_missing_extra_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishers, "find_spec", lambda name: None)
    with pytest.raises(Misconfigured, match=r"waypost\[nats\]"):
        named("nats://n:4222")


def test_settings_take_lists_and_refuse_others() -> None:
    settings = load({"WAYPOST_PUBLISH": "nats://n:4222, redis://:hush@r/0"})
    assert "hush" not in repr(settings)
    assert named(settings.publish.reveal() if settings.publish else "") == ["nats", "redis"]
    for wrong in ("kafka://k:9092", "redis://a,http://b", "n:4222"):
        with pytest.raises(Misconfigured):
            load({"WAYPOST_PUBLISH": wrong})
    assert load({"WAYPOST_OUTBOUND_ALLOW": "127.0.0.0/8,10.1.0.0/16"}).outbound_allow == ("127.0.0.0/8", "10.1.0.0/16")
    with pytest.raises(Misconfigured):
        load({"WAYPOST_OUTBOUND_ALLOW": "everything"})


@pytest.mark.parametrize("url", ["redis://r/0?maxlen=0", "redis://r/0?maxlen=many"])
def test_bad_options_of_a_broker_are_refused(url: str) -> None:
    with pytest.raises(Misconfigured):
        named(url)
