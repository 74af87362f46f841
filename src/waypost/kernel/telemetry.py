"""What Waypost says about itself: every metric and every log action, in one catalogue.

Labels are words of ours (channels, outcomes, routes), never tenants, keys or addresses. `docs/metrics.md` and
`docs/log-actions.md` are made from here, and a test compares the log actions with those in the code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    kind: Literal["counter", "gauge", "histogram"]
    where: Literal["api", "worker", "both", "smtp"]
    sentence: str
    labels: tuple[str, ...] = ()


METRICS: Final[Mapping[str, Metric]] = {
    "waypost_http_requests_total": Metric(
        kind="counter", where="api", sentence="Answered requests.", labels=("method", "route", "status")
    ),
    "waypost_http_request_seconds": Metric(
        kind="histogram",
        where="api",
        sentence="Time from a request's first byte to its answer's last.",
        labels=("method", "route"),
    ),
    "waypost_http_refused_total": Metric(
        kind="counter", where="api", sentence="Requests turned away at the door.", labels=("reason",)
    ),
    "waypost_http_problems_total": Metric(
        kind="counter", where="api", sentence="Problems answered, by their code.", labels=("code",)
    ),
    "waypost_http_in_flight": Metric(kind="gauge", where="api", sentence="Requests being read or answered."),
    "waypost_accepted_total": Metric(
        kind="counter",
        where="both",
        sentence="Notifications accepted, by what the gate said: a status, and a reason where it stopped them.",
        labels=("channel", "status", "reason"),
    ),
    "waypost_submit_seconds": Metric(
        kind="histogram", where="both", sentence="Time of a submit: resolve, check, gate, queue."
    ),
    "waypost_events_total": Metric(
        kind="counter", where="both", sentence="Events, by what became of them.", labels=("result",)
    ),
    "waypost_events_pulled_total": Metric(
        kind="counter",
        where="worker",
        sentence="Messages pulled from streams: taken in, to be tried again, or given up.",
        labels=("result",),
    ),
    "waypost_timers_total": Metric(
        kind="counter",
        where="worker",
        sentence="What became of due timers: the state, and the reason where one was skipped.",
        labels=("status", "reason"),
    ),
    "waypost_timer_tick_seconds": Metric(
        kind="histogram", where="worker", sentence="Time to fire all timers that were due."
    ),
    "waypost_streams_open": Metric(
        kind="gauge", where="api", sentence="Inbox streams that are open.", labels=("kind",)
    ),
    "waypost_stream_events_total": Metric(
        kind="counter", where="api", sentence="Events sent to inbox streams.", labels=("event",)
    ),
    "waypost_streams_refused_total": Metric(
        kind="counter", where="api", sentence="Inbox streams that found no room.", labels=("reason",)
    ),
    "waypost_smtp_sessions": Metric(kind="gauge", where="smtp", sentence="Callers who submit mail, on the line."),
    "waypost_smtp_refused_total": Metric(
        kind="counter",
        where="smtp",
        sentence="Callers turned away before they could submit anything, and wrong keys.",
        labels=("reason",),
    ),
    "waypost_smtp_mails_total": Metric(
        kind="counter", where="smtp", sentence="Submitted mails: `accepted`, or the problem's code.", labels=("code",)
    ),
    "waypost_smtp_mail_seconds": Metric(
        kind="histogram", where="smtp", sentence="From the end of a mail to the answer."
    ),
    "waypost_tracking_total": Metric(
        kind="counter",
        where="api",
        sentence="Opens and clicks: `recorded`, `left_out` (of an erased person or a message that is gone), `repeated` "
        "(too often), `lost` (the database was away) or `refused` (no token of ours).",
        labels=("kind", "result"),
    ),
    "waypost_claimed_total": Metric(kind="counter", where="worker", sentence="Notifications taken off the queue."),
    "waypost_claim_seconds": Metric(kind="histogram", where="worker", sentence="Time of a claim."),
    "waypost_compose_seconds": Metric(
        kind="histogram", where="worker", sentence="Time to open, render and compose a part of a batch."
    ),
    "waypost_withheld_total": Metric(
        kind="counter", where="worker", sentence="Notifications that could not be composed.", labels=("reason",)
    ),
    "waypost_settled_total": Metric(
        kind="counter",
        where="worker",
        sentence="How claimed notifications ended: an outcome of the vendor's, an end without a call, or `returned`.",
        labels=("channel", "result", "reason"),
    ),
    "waypost_attempt_seconds": Metric(
        kind="histogram", where="worker", sentence="From the call to the vendor's final word.", labels=("channel",)
    ),
    "waypost_settle_seconds": Metric(kind="histogram", where="worker", sentence="Time to write a batch down."),
    "waypost_rescued_total": Metric(
        kind="counter", where="worker", sentence="Taken over from workers that were lost.", labels=("result",)
    ),
    "waypost_queue_waiting": Metric(
        kind="gauge",
        where="worker",
        sentence="Notifications waiting, due or later; counted up to 100,000 each.",
        labels=("channel", "priority"),
    ),
    "waypost_queue_oldest_seconds": Metric(
        kind="gauge",
        where="worker",
        sentence="How long the longest waiting one has been due; 0 when none is.",
        labels=("channel", "priority"),
    ),
    "waypost_webhook_calls_total": Metric(
        kind="counter",
        where="worker",
        sentence="Calls to webhook endpoints: the class of the answer (`2xx`, `5xx`), or why there was none.",
        labels=("result",),
    ),
    "waypost_webhook_call_seconds": Metric(
        kind="histogram", where="worker", sentence="From a call to a webhook endpoint to its answer."
    ),
    "waypost_webhook_deliveries_total": Metric(
        kind="counter", where="worker", sentence="Deliveries that news and replays have become."
    ),
    "waypost_published_total": Metric(
        kind="counter",
        where="worker",
        sentence="Events told to brokers, and those they would not take.",
        labels=("publisher", "result"),
    ),
    "waypost_relay_waiting": Metric(
        kind="gauge",
        where="worker",
        sentence="What the relay must still do: unread batches of news by reader; as `calls`, endpoints that are due.",
        labels=("reader",),
    ),
    "waypost_relay_oldest_seconds": Metric(
        kind="gauge",
        where="worker",
        sentence="How long the oldest of it has waited; 0 when there is none.",
        labels=("reader",),
    ),
    "waypost_workers_alive": Metric(kind="gauge", where="worker", sentence="Workers with a lease in force."),
    "waypost_default_partition_rows": Metric(
        kind="gauge", where="worker", sentence="Rows in DEFAULT partitions, which must stay empty."
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    level: Literal["debug", "info", "warning", "error"]
    sentence: str


ACTIONS: Final[Mapping[str, Action]] = {
    "request": Action(level="info", sentence="A request was answered: route, status, duration, request id, tenant."),
    "request_failed": Action(level="error", sentence="A request met something unexpected and was answered 500."),
    "smtp_mail": Action(level="info", sentence="A submitted mail was answered: status, code, duration, tenant."),
    "smtp_mail_failed": Action(level="error", sentence="A mail met something unexpected and was put off."),
    "smtp_session_failed": Action(level="error", sentence="A session met something unexpected and was ended."),
    "smtp_key_refused": Action(level="warning", sentence="Somebody who submits mail showed a key that is no good."),
    "smtp_certificate_unread": Action(
        level="error", sentence="A renewed certificate could not be read; the old one is used on."
    ),
    "stream_failed": Action(level="error", sentence="An inbox stream met something unexpected and was ended."),
    "stream_waits": Action(level="warning", sentence="Inbox streams wait for the database."),
    "notification_settled": Action(
        level="info", sentence="A notification's claim ended: result, reason, code, attempt, latency."
    ),
    "claim_waits": Action(level="warning", sentence="The database cannot be asked for work at the moment."),
    "pauses_unread": Action(level="warning", sentence="What is paused could not be looked up; what was known holds."),
    "gate_failed": Action(level="error", sentence="The gate broke down over a batch, which goes back to the queue."),
    "compose_failed": Action(level="error", sentence="The composer broke down over a batch, which goes back."),
    "reserve_failed": Action(level="error", sentence="No room could be reserved for a batch, which goes back."),
    "aftermath_failed": Action(level="error", sentence="What a batch's replies say about an account went unheeded."),
    "sender_stopped": Action(level="warning", sentence="A sender account crossed a threshold and sends no more."),
    "account_unusable": Action(level="error", sentence="A sender account cannot be opened: its secret or its server."),
    "no_sender": Action(level="error", sentence="There is no way out for a batch, which goes back to the queue."),
    "sender_failed": Action(level="error", sentence="A sender broke down; what had gone out is in doubt."),
    "settle_waits": Action(level="warning", sentence="Outcomes are kept in memory until the database is back."),
    "settle_refused": Action(level="error", sentence="A settlement could not be written even in its plainest form."),
    "settled_plainly": Action(level="warning", sentence="A settlement was written without the vendor's words."),
    "settled_late": Action(level="warning", sentence="A settlement came after its lease; only its attempt moved."),
    "left_unsettled": Action(level="error", sentence="A stopping worker left outcomes to its journal."),
    "stray_given_back": Action(level="warning", sentence="A claim whose answer was lost was given back."),
    "heartbeat_failed": Action(level="warning", sentence="A worker's lease could not be renewed."),
    "rescued": Action(level="info", sentence="Notifications of a lost worker were settled or queued again."),
    "worker_stops": Action(level="info", sentence="A worker was told to stop and finishes what it has begun."),
    "worker_stopped": Action(level="info", sentence="A worker has stopped."),
    "chore_waits": Action(level="warning", sentence="A chore waits for the database."),
    "batch_failed": Action(
        level="error", sentence="A step of a dispatch batch failed; after five in a row the batch ends as failed."
    ),
    "chore_failed": Action(level="error", sentence="A chore failed and is tried again at its next time."),
    "relay_waits": Action(level="warning", sentence="The relay waits for the database."),
    "relay_failed": Action(level="error", sentence="A step of the relay broke down and is tried again."),
    "webhook_disabled": Action(
        level="warning", sentence="A webhook endpoint was disabled: it is gone, or has failed for three days."
    ),
    "publisher_away": Action(level="warning", sentence="A broker takes nothing; its events wait in order."),
    "publisher_forgotten": Action(
        level="warning", sentence="No relay has published there for a week: nothing is kept for it any more."
    ),
    "publish_given_up": Action(level="error", sentence="A broker has refused an event for three days."),
    "timers_failed": Action(level="error", sentence="A tenant's due timers broke down and are fired one by one."),
    "timer_failed": Action(level="error", sentence="A timer broke down; it is tried again, ten times at most."),
    "event_given_up": Action(level="error", sentence="A pulled event could not be taken in and is kept for people."),
    "job_ended": Action(level="info", sentence="A job finished, failed or was cancelled: kind, state."),
    "job_step_failed": Action(level="error", sentence="A step of a job broke down and is tried again a few times."),
    "alert_opened": Action(level="warning", sentence="Something is wrong that a person should look at: kind, tenant."),
    "alert_closed": Action(level="info", sentence="What an alert was about is well again: kind, tenant."),
    "alert_not_told": Action(level="error", sentence="A target could not be told of an alert and is given up."),
    "dkim_key_broken": Action(
        level="error", sentence="A DKIM key does not open: nothing is sent from its domain until its keys are rotated."
    ),
    "domain_failing": Action(level="warning", sentence="A domain that was verified fails its checks: domain, state."),
    "partition_missing": Action(level="error", sentence="A partition for the coming months could not be made."),
    "render.child_lost": Action(level="warning", sentence="A content killed its render process and goes alone now."),
}
