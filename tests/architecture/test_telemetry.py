"""The catalogue of metrics and log actions is the truth: code, documents and alerts agree with it."""

import ast
import re
from pathlib import Path

from prometheus_client import CollectorRegistry

from waypost.api.live.metrics import LiveMetrics
from waypost.api.metrics import HttpMetrics
from waypost.bootstrap.event_metrics import EventMetrics
from waypost.bootstrap.submit_metrics import SubmitMetrics
from waypost.bootstrap.tracking import TrackingMetrics
from waypost.kernel.telemetry import ACTIONS, METRICS
from waypost.smtp.metrics import SmtpMetrics
from waypost.workers.metrics import WorkerMetrics

ROOT = Path(__file__).parents[2]
LEVELS = {"debug", "info", "warning", "error"}


def logged_actions() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            for keyword in node.keywords:
                if keyword.arg == "action" and isinstance(keyword.value, ast.Constant):
                    level = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                    found.setdefault(str(keyword.value.value), set()).add(level)
    return found


def test_every_log_action_is_in_the_catalogue_with_its_level() -> None:
    logged = {name: levels & LEVELS for name, levels in logged_actions().items()}
    written_otherwise = {"notification_settled"}
    assert logged.keys() | written_otherwise == ACTIONS.keys()
    wrong = {name: levels for name, levels in logged.items() if levels and levels != {ACTIONS[name].level}}
    assert wrong == {}


def test_every_metric_of_the_catalogue_exists_and_no_other() -> None:
    registry = CollectorRegistry()
    HttpMetrics(registry)
    LiveMetrics(registry)
    SubmitMetrics(registry)
    TrackingMetrics(registry)
    EventMetrics(registry)
    WorkerMetrics(registry)
    SmtpMetrics(registry)
    made = {
        f"{family.name}_total" if family.type == "counter" else family.name: family.type
        for family in registry.collect()
    }
    assert made == {name: about.kind for name, about in METRICS.items()}


def test_no_label_names_a_tenant_or_a_person() -> None:
    allowed = {
        "method",
        "route",
        "status",
        "reason",
        "code",
        "channel",
        "result",
        "priority",
        "reader",
        "publisher",
        "kind",
        "event",
    }
    assert {label for about in METRICS.values() for label in about.labels} <= allowed


def test_every_alert_watches_metrics_that_exist_and_has_its_line_in_the_runbook() -> None:
    rules = (ROOT / "deploy/alerts.yml").read_text()
    runbook = (ROOT / "docs/runbook.md").read_text()
    alerts = re.findall(r"alert: (\w+)", rules)
    assert len(alerts) == len(set(alerts)) > 10
    assert set(re.findall(r"^\| `(Waypost\w+)` \|", runbook, re.MULTILINE)) == set(alerts)
    watched = {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"\bwaypost_\w+", rules)}
    assert watched <= METRICS.keys()
