"""What `--help` says of a setting is what the table of settings says."""

from rich.text import Text

from waypost.cli.options import settable
from waypost.settings import Settings, table


def test_brackets_in_a_sentence_are_no_markup() -> None:
    @settable("log")
    def command(settings: Settings) -> None: ...

    parameters = command.__signature__.parameters  # type: ignore[attr-defined]
    [traces] = [row for row in table() if row.name == "otlp_endpoint"]
    shown = Text.from_markup(parameters["otlp_endpoint"].annotation.__metadata__[0].help).plain
    assert shown == f"{traces.about.sentence} [{traces.variable}; default: {traces.shown_default}]"
    assert "waypost[otel]" in shown
