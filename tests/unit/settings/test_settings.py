"""Settings: one table, three places to write them, refusals that name the setting and the remedy."""

from dataclasses import fields
from pathlib import Path

import pytest

from waypost.kernel.errors import Misconfigured
from waypost.settings import Secret, Settings, load, table
from waypost.settings.rows import Group


def test_defaults_stand_where_nothing_is_given(tmp_path: Path) -> None:
    settings = load({"WAYPOST_DATA_DIR": str(tmp_path)})
    assert (settings.host, settings.port) == ("127.0.0.1", 8800)
    assert settings.api_url == "http://127.0.0.1:8800"
    assert settings.database_url is None
    assert settings.master_key_path == tmp_path / "master.key"


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "waypost.toml").write_text('port = 1001\nhost = "127.0.0.2"\nlog_level = "debug"\n')
    environment = {"WAYPOST_DATA_DIR": str(tmp_path), "WAYPOST_PORT": "1002", "WAYPOST_HOST": "127.0.0.3"}
    settings = load(environment, {"port": 1003, "host": None})
    assert (settings.port, settings.host, settings.log_level) == (1003, "127.0.0.3", "debug")


def test_a_data_directory_on_the_command_line_brings_its_file(tmp_path: Path) -> None:
    (tmp_path / "waypost.toml").write_text("port = 1001\n")
    assert load({}, {"data_dir": tmp_path}).port == 1001


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("WAYPOST_PORT", "70000", "WAYPOST_PORT must be a whole number from 0 to 65535."),
        ("WAYPOST_PORT", "eight", "WAYPOST_PORT must be a whole number from 0 to 65535."),
        ("WAYPOST_LEASE", "1s", "WAYPOST_LEASE must be a duration like 30s or 2m, from 5 to 3600 seconds."),
        ("WAYPOST_LOG_LEVEL", "loud", "WAYPOST_LOG_LEVEL must be one of debug, info, warning, error."),
        ("WAYPOST_PUBLIC_URL", "ftp://x", "WAYPOST_PUBLIC_URL must be a URL that begins with http:// or https://."),
        ("WAYPOST_PUBLIC_URL", "http://x:99999", "WAYPOST_PUBLIC_URL must be a URL with a port from 1 to 65535."),
        ("WAYPOST_MESSAGE_DOMAIN", "Not A Domain", "WAYPOST_MESSAGE_DOMAIN must be a domain name in lower-case ASCII."),
        ("WAYPOST_TRUSTED_PROXIES", "10.0.0.1/8", "WAYPOST_TRUSTED_PROXIES must be networks like 10.0.0.0/8,"),
        ("WAYPOST_HOST", "a\nb", "WAYPOST_HOST must not hold control characters."),
    ],
)
def test_a_bad_value_is_refused_by_name(variable: str, value: str, said: str) -> None:
    with pytest.raises(Misconfigured) as refusal:
        load({variable: value})
    assert refusal.value.detail.startswith(said)


@pytest.mark.parametrize("variable", ["WAYPOST_SMTP_URL", "WAYPOST_DATABASE_URL"])
def test_a_refusal_does_not_repeat_a_secret(variable: str) -> None:
    with pytest.raises(Misconfigured) as refusal:
        load({variable: "nonsense://user:hunter2@host"})
    assert "hunter2" not in refusal.value.detail


def test_an_unknown_variable_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(Misconfigured, match=r"WAYPOST_PROT is not a setting: did you mean WAYPOST_PORT\?"):
        load({"WAYPOST_PROT": "1"})
    with pytest.raises(Misconfigured, match="WAYPOST_XQZW is not a setting: `waypost settings` lists"):
        load({"WAYPOST_XQZW": "1"})


def test_an_unknown_name_in_the_file_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "waypost.toml").write_text("prot = 1\n")
    with pytest.raises(Misconfigured, match=r"prot in .*waypost\.toml is not a setting: did you mean port\?"):
        load({"WAYPOST_DATA_DIR": str(tmp_path)})


@pytest.mark.parametrize("text", ["port = [1]", "port = true", "port =", 'data_dir = "/x"', "\xff"])
def test_a_file_that_cannot_be_used_is_refused_with_its_path(tmp_path: Path, text: str) -> None:
    (tmp_path / "waypost.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(Misconfigured, match=r"waypost\.toml"):
        load({"WAYPOST_DATA_DIR": str(tmp_path)})


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="does not exist"):
        load({"WAYPOST_CONFIG": str(tmp_path / "none.toml")})


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert load({"WAYPOST_SMTP_URL": ""}).smtp_url is None


def test_secrets_are_masked_in_every_repr() -> None:
    secrets = {
        "WAYPOST_DATABASE_URL": "postgresql://a:hunter2@h/d",
        "WAYPOST_SMTP_URL": "smtp://a:hunter2@h:25",
        "WAYPOST_API_KEY": "hunter2",
        "WAYPOST_PLATFORM_KEY": "hunter2",
    }
    settings = load(secrets)
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in str(settings)
    assert settings.api_key == Secret("hunter2")


def test_a_child_process_sees_the_same_settings(tmp_path: Path) -> None:
    settings = load(
        {
            "WAYPOST_DATA_DIR": str(tmp_path),
            "WAYPOST_DATABASE_URL": "postgresql://a:b@/d?host=/run",
            "WAYPOST_LEASE": "2m",
            "WAYPOST_TRUSTED_PROXIES": "10.0.0.0/8, ::1/128",
            "WAYPOST_DEFAULT_FROM": "Jane Doe <jane@example.com>",
        },
        {"port": 9000},
    )
    assert load(settings.environment()) == settings


def test_metrics_live_beside_the_api_unless_somebody_chose() -> None:
    assert (load({}).api_metrics_port, load({}).worker_port) == (8801, 8802)
    assert load({"WAYPOST_PORT": "0"}).api_metrics_port == 0
    assert load({"WAYPOST_PORT": "65535"}).api_metrics_port == 0
    assert load({"WAYPOST_METRICS_PORT": "7000"}).api_metrics_port == 7000


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:8800"),  # noqa: S104
        ("::", "http://[::1]:8800"),
        ("10.0.0.5", "http://10.0.0.5:8800"),
    ],
)
def test_this_machine_reaches_the_api_wherever_it_listens(host: str, url: str) -> None:
    settings = load({"WAYPOST_HOST": host, "WAYPOST_PUBLIC_URL": "https://mail.example.com/"})
    assert settings.local_url == url
    assert settings.api_url == "https://mail.example.com"


def test_every_setting_has_a_sentence_a_default_and_a_reader_that_takes_the_default() -> None:
    rows = table()
    assert sorted(row.name for row in rows) == sorted(one.name for one in fields(Settings))
    groups = [row.about.group for row in rows]
    assert groups == sorted(groups, key=list(Group).index), "each group stands together, in the order of the page"
    for row in rows:
        assert row.about.sentence.endswith((".", "…")), row.name
        assert row.shown_default, row.name
        if isinstance(row.default, str | int | float):
            assert row.about.read(str(row.default)) == row.default, row.name
