"""The pages of metrics and log actions, made from the catalogue in `kernel/telemetry.py`."""

from waypost.kernel.telemetry import ACTIONS, METRICS

_METRICS = """\
# Metrics

Every process tells how it is at `/metrics` on a port of its own (`WAYPOST_METRICS_PORT`,
`WAYPOST_WORKER_METRICS_PORT`), in the format of Prometheus. Labels are words of ours: channels, outcomes, routes. No
metric names a tenant, a key or a person. Counters are per process: add them up. Gauges of the queue describe the whole
installation and are the same from every worker: take the largest. Alerts over them are in
[deploy/alerts.yml](../deploy/alerts.yml), and the [runbook](runbook.md) says what to do about each.
"""

_ACTIONS = """\
# Log actions

Lines go to standard error, one JSON object each (`WAYPOST_LOG_FORMAT=pretty` for people). Every line of Waypost's own
has an `action` from this list, so that programs need not read sentences. Addresses and secrets are in none of them.

| action | level | when |
| --- | --- | --- |
"""

_TITLES = {"api": "The API", "worker": "The worker"}


def metrics_page() -> str:
    parts = [_METRICS]
    for where, title in _TITLES.items():
        parts.append(f"\n## {title}\n\n| metric | kind | labels | |\n| --- | --- | --- | --- |\n")
        parts.extend(
            f"| `{name}` | {about.kind} | {', '.join(about.labels)} | {about.sentence} |\n"
            for name, about in METRICS.items()
            if about.where in (where, "both")
        )
    return "".join(parts)


def actions_page() -> str:
    return _ACTIONS + "".join(f"| `{name}` | {about.level} | {about.sentence} |\n" for name, about in ACTIONS.items())
