"""The typed client over every route of a real server: each answer is read, and no route is left out."""

import asyncio
import re
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from waypost.client import ApiError, Client, Event, Message
from waypost.client.jobs import Job
from waypost.client.wish_answers import Limits, MarketingCap, Rate

# What an operator does once, by curl or in the console. The recipient's own routes belong to the client in the browser.
NOT_YET_IN_THE_CLIENT: set[tuple[str, str]] = set()
SUBJECTS = {"Yes", "s", "Hello Ada", "Drill", "Test: an alert of Waypost"}
OPEN_TO_ALL = {("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/openapi.json")}


class Recording(httpx.AsyncHTTPTransport):
    def __init__(self) -> None:
        super().__init__()
        self.asked: set[tuple[str, str]] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.add((request.method, request.url.path))
        return await super().handle_async_request(request)


async def test_every_route_has_a_call_and_every_call_reads_its_answer(up) -> None:
    transport = Recording()
    async with Client(up.url, up.platform_key, transport=transport) as platform:
        await _run_the_platform(platform, up, transport)
    async with Client(up.url, up.platform_key, tenant="client-acme", transport=transport) as client:
        await _write_templates(client)
        await _know_people(client)
        await _send_and_cancel(client)
        await _suppress(client)
        await _choose(client)
        await _try_out_templates(client)
        await _organise(client)
        await _plan(client)
        await _try_out_accounts(client)
        await _prove_domains(client)
        await _be_told(client)
        await _operate(client)
        await _post(client)
        assert {mail.subject async for mail in client.mailbox.list(page_size=1)} <= SUBJECTS
        with pytest.raises(ApiError):
            await client.mailbox.raw("mbx_none")
    async with httpx.AsyncClient(trust_env=False) as http:
        document = (await http.get(f"{up.url}/openapi.json")).json()
    left_out = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method in operations
        if not any(
            asked == method.upper() and re.fullmatch(re.sub(r"{\w+}", "[^/]+", path), real)
            for asked, real in transport.asked
        )
    }
    recipients_own = {(method, path) for method, path in left_out if path.startswith("/v1/me")}
    assert left_out - OPEN_TO_ALL - recipients_own == NOT_YET_IN_THE_CLIENT


async def _try_out_templates(client: Client) -> None:
    await client.templates.create("trial", name="Trial", category="operational")
    words = {"en": {"subject": "s", "body": "t", "format": "text"}}
    first = await client.templates.add_version("trial", words)
    await client.templates.change("trial", {"name": "Trials"})
    await client.templates.publish("trial", first.semver)
    drafted = await client.templates.add_version("trial", words, source="ai_drafted", provenance={"model": "m"})
    assert (await client.templates.approve("trial", drafted.semver, approver="Jane Roe")).semver == drafted.semver
    await client.templates.lint("trial", drafted.semver)
    tried = await client.templates.try_out("trial", {"locales": words})
    assert (tried.subject, tried.text) == ("s", "t")
    await client.templates.diff("trial", first.semver, drafted.semver)
    await client.templates.archive_version("trial", drafted.semver)
    await client.templates.archive("trial")


async def _ended(client: Client, job: Job) -> Job:
    return [state async for state in client.jobs.follow(job.id, every=0.1)][-1]


async def _organise(client: Client) -> None:
    for name in ("ann", "bob", "carl"):
        await client.recipients.put(name, {"email": f"{name}@example.com"})
    assert await client.recipients.set_tags("ann", ["a", "b"]) == ("a", "b")
    assert await client.recipients.add_tags("ann", ["c", "x/y"]) == ("a", "b", "c", "x/y")
    assert await client.recipients.remove_tag("ann", "b") == ("a", "c", "x/y")
    assert await client.recipients.remove_tag("ann", "x/y") == ("a", "c")
    assert await client.recipients.tags("ann") == ("a", "c")
    await client.recipients.add_address("ann", channel="email", address="ann2@example.com")
    first = (await client.recipients.addresses("ann"))[0]
    await client.recipients.change_address("ann", first.id, verified=True)
    await client.recipients.remove_address("ann", first.id)
    assert "ann" in [one.id async for one in client.recipients.list(tag="a")]
    await client.lists.put("team", title="Team")
    assert (await client.lists.change_members("team", add=["ann", "bob"])).added == 2
    assert [one.id async for one in client.lists.members("team")]
    assert [one.key async for one in client.lists.list()] == ["team"]
    assert (await client.lists.get("team")).title == "Team"
    await client.recipients.merge("ann", source="bob")
    certificate = await client.recipients.erase("carl")
    assert (await client.recipients.verify_erasure(certificate, recipient_id="carl")).genuine
    assert certificate in [one async for one in client.recipients.erasures()]
    assert (await client.recipients.replay_erasures([certificate])).noted == 0
    await client.lists.remove("team")
    job = await _ended(client, await client.imports.start(b"id,email\ndora,dora@example.com\n"))
    assert job.state == "finished"
    assert await client.imports.report(job.id)
    file = await _ended(client, await client.exports.start("recipients"))
    assert b"dora@example.com" in await client.exports.file(file.id)
    assert {job.id, file.id} <= {one.id async for one in client.jobs.list()}
    with pytest.raises(ApiError):
        await client.jobs.cancel(job.id)


async def _plan(client: Client) -> None:
    made = await client.triggers.create(
        event_type="trip.booked",
        template="welcome",
        recipient="$.data.who",
        offset="2d",
        variables={"city": "$.data.city"},
    )
    changed = await client.triggers.change(made.id, priority="low")
    assert await client.triggers.get(made.id) == changed
    assert [one async for one in client.events.failed()] == []
    with pytest.raises(ApiError):
        await client.events.redrive("evf_none")
    assert changed.id in [one.id async for one in client.triggers.list(event_type="trip.booked")]
    taken = await client.events.tell("trip.booked", "trip-1", {"who": "ann", "city": "Graz"})
    assert len(taken.timers) == 1
    again = Event(id="trip-2", type="trip.booked", data={"who": "ann", "city": "Linz"}, occurred_at=datetime.now(UTC))
    assert (await client.events.send_many([again])).accepted == 1
    timer = taken.timers[0].id
    assert (await client.timers.get(timer)).id == timer
    assert timer in [one.id async for one in client.timers.list(recipient="ann")]
    assert (await client.timers.cancel(timer)).state == "cancelled"
    await client.triggers.delete(made.id)
    bulk = await client.notifications.send_many([Message(to="ann", content={"subject": "s", "text": "t"})])
    await client.events.seen(bulk.items[0].notifications[0].id)


async def _try_out_accounts(client: Client) -> None:
    accounts = client.sender_accounts
    made = await accounts.create("smtp", "Never", "never@example.com", host="127.0.0.1", categories=["system"])
    assert made.id in [one.id async for one in accounts.list()]
    assert (await accounts.change(made.id, {"daily_limit": 5})).today.remaining == 5
    assert (await accounts.test(made.id)).ok is False
    assert (await accounts.pause(made.id)).status == "paused"
    assert (await accounts.resume(made.id)).status == "active"
    assert list(await accounts.days(made.id)) == []
    assert {one.channel: one.way for one in await accounts.channels()}["email"] == "catch_all"
    await accounts.archive(made.id)
    assert (await accounts.get(made.id)).status == "archived"


async def _prove_domains(client: Client) -> None:
    made = await client.domains.create("client.example.com", purposes=["from", "return_path"])
    assert [one.id async for one in client.domains.list()] == [made.id]
    # Whatever the name servers of this machine say: the name belongs to nobody.
    assert (await client.domains.verify(made.id)).state == "pending"
    assert {record.check for record in (await client.domains.get(made.id)).records} >= {"ownership", "dkim"}
    with pytest.raises(ApiError) as refusal:
        await client.domains.rotate_keys(made.id)
    assert refusal.value.problem.code == "no_active_key"
    await client.domains.delete(made.id)


async def _be_told(client: Client) -> None:
    made = await client.webhooks.create("https://8.8.8.8/never", events=["suppression.added"])
    assert made.id in [one.id async for one in client.webhooks.list()]
    await client.webhooks.change(made.id, description="never")
    assert (await client.webhooks.get(made.id)).description == "never"
    assert (await client.webhooks.rotate_secret(made.id)).secret != made.secret
    tested = await client.webhooks.test(made.id)
    assert tested.id in [one.id async for one in client.webhooks.deliveries(made.id)]
    await client.webhooks.retry(made.id, tested.id)
    replay = await client.webhooks.replay(made.id, since=datetime.now(UTC) - timedelta(minutes=5))
    assert [one.id for one in await client.webhooks.replays(made.id)] == [replay.id]
    await client.webhooks.delete(made.id)


async def _operate(client: Client) -> None:
    """With a real worker: what is paused waits, however long; what is resumed goes out at once."""
    paused = await client.pauses.create("tenant", reason="a drill")
    assert [one.id for one in await client.pauses.list()] == [paused.id]
    sent = await client.notifications.send(
        Message(
            to={"id": "driller", "email": "driller@example.com"},
            content={"subject": "Drill", "text": "t"},
            category="transactional",
        )
    )
    waiting = sent.notifications[0].id
    # Two seconds and more by the server's own clock, in which a worker that did not know would have sent it.
    begun = (await client.queue()).at
    while (standing := await client.queue()).at < begun + timedelta(seconds=3):  # noqa: ASYNC110 - over HTTP
        await asyncio.sleep(0.2)
    assert (await client.notifications.get(waiting)).status == "queued"
    assert [lane.paused for lane in standing.lanes if lane.waiting] == [True]
    await client.pauses.resume(paused.id)
    async with asyncio.timeout(60):
        while (await client.notifications.get(waiting)).status != "dispatched":  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.1)
    assert [one async for one in client.dead_letters.list()] == []
    assert (await client.dead_letters.redrive()).redriven == 0
    made = await client.alerts.add_target(email="ops@example.com")
    assert (await client.alerts.target(made.id)).status == "enabled"
    await client.alerts.test_target(made.id)
    await client.alerts.change_target(made.id, description="on call")
    assert [one.description for one in await client.alerts.targets()] == ["on call"]
    async with asyncio.timeout(60):
        while (await client.alerts.target(made.id)).last_told_at is None:  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.2)
    await client.alerts.remove_target(made.id)
    assert [one async for one in client.alerts.list(is_open=True)] == []
    with pytest.raises(ApiError):
        await client.alerts.get("alr_none")


async def _post(client: Client) -> None:
    await client.inboxes.put("main", title="Main")
    assert (await client.inboxes.get("main")).title == "Main"
    assert "main" in [one.key async for one in client.inboxes.list()]
    posted = await client.inboxes.post("main", audience={"kind": "users", "recipients": ["ann"]}, title="Hello")
    assert posted.id in [one.id async for one in client.inboxes.posts("main")]
    assert (await client.inboxes.get_post("main", posted.id)).id == posted.id
    await client.inboxes.redact("main", posted.id)
    assert (await client.inboxes.token("ann")).token
    await client.inboxes.end_tokens("ann")
    assert list(await client.inboxes.verify_counters()) == []
    changed = await client.inboxes.change_settings({"allowed_origins": ["https://app.example.com"]})
    assert await client.inboxes.settings() == changed
    assert (await client.inboxes.make_identity_secret()).secret
    await client.inboxes.drop_identity_secret()


async def _run_the_platform(platform: Client, up, transport: Recording) -> None:
    made = await platform.tenants.create("client-acme", name="Acme", mode="sandbox")
    assert (made.status, made.version) == ("active", 1)
    changed = await platform.tenants.change("client-acme", {"name": "Acme Ltd"}, version=1)
    assert (changed.name, changed.version) == ("Acme Ltd", 2)
    with pytest.raises(ApiError, match="changed meanwhile") as refusal:
        await platform.tenants.change("client-acme", {"name": "Late"}, version=1)
    assert refusal.value.status == 412
    assert (await platform.tenants.get("client-acme")).name == "Acme Ltd"
    assert "client-acme" in [one.id async for one in platform.tenants.list(page_size=1)]
    key = await platform.keys.create("client-acme", name="CI", scopes=["notifications:send"])
    assert key.secret.startswith("wp_test_")
    assert key.id in [one.id async for one in platform.keys.list(tenant_id="client-acme")]
    async with Client(up.url, up.platform_key, tenant="client-acme", transport=transport) as acting:
        await acting.keys.revoke(key.id)
    actions = [one.action async for one in platform.audit.list()]
    assert {"tenant.created", "tenant.changed", "api_key.created"} <= set(actions)


async def _write_templates(client: Client) -> None:
    template = await client.templates.create("welcome", name="Welcome", category="transactional")
    assert (await client.templates.get("welcome")).id == template.id
    schema = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
    english = {"subject": "Hello {{ first_name }}", "body": "How is {{ city }}?", "format": "text"}
    draft = await client.templates.add_version("welcome", {"en": english}, variables_schema=schema)
    assert (draft.semver, draft.state) == ("1.0.0", "draft")
    assert (await client.templates.publish("welcome", "1.0.0")).state == "active"
    assert (await client.templates.version("welcome", "1.0.0")).locales["en"].subject == english["subject"]
    assert [one.semver async for one in client.templates.versions("welcome")] == ["1.0.0"]
    assert [one.key async for one in client.templates.list()] == ["welcome"]
    rendered = await client.templates.preview("welcome", "1.0.0", {"first_name": "Ada", "city": "London"})
    assert (rendered.subject, rendered.text.strip()) == ("Hello Ada", "How is London?")


async def _know_people(client: Client) -> None:
    made = await client.recipients.put("user-7", {"email": "ada@example.com", "attributes": {"first_name": "Ada"}})
    assert (made.version, made.attributes) == (1, {"first_name": "Ada"})
    changed = await client.recipients.patch("user-7", {"timezone": "Europe/London"})
    assert changed.timezone == "Europe/London"
    [address] = await client.recipients.addresses("user-7")
    assert "ada@example.com" not in address.masked
    await client.recipients.put("user-8", {"email": "bob@example.com", "phone": "+14155550123"})
    for one in await client.recipients.addresses("user-8"):
        if one.channel != "email":
            await client.recipients.remove_address("user-8", one.id)
    assert {one.id async for one in client.recipients.list(page_size=1)} == {"user-7", "user-8"}
    await client.recipients.erase("user-8")
    with pytest.raises(ApiError):
        await client.recipients.get("user-8")


async def _send_and_cancel(client: Client) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    planned = Message(to="user-7", template="welcome", variables={"city": "Paris"}, send_at=tomorrow)
    accepted = await client.notifications.send(planned)
    [one] = accepted.notifications
    assert one.status == "scheduled"
    assert (await client.notifications.content(one.id)).text.strip() == "How is Paris?"
    assert (await client.notifications.get(one.id)).template == "welcome"
    assert (await client.notifications.cancel(one.id)).status == "cancelled"
    assert [step.event for step in await client.notifications.timeline(one.id)][-1] == "cancelled"
    again = await client.notifications.send(planned)
    stopped = await client.notifications.cancel_request(again.request_id)
    assert [note.status for note in stopped.notifications] == ["cancelled"]
    assert (await client.notifications.request(again.request_id)).notifications == stopped.notifications
    assert len([note async for note in client.notifications.list(status="cancelled")]) == 2
    [copy] = (await client.notifications.resend(one.id)).notifications
    assert (await client.notifications.get(copy.id)).resend_of == one.id
    told = {step.event: step.detail for step in await client.notifications.timeline(one.id)}
    assert told["resent"] == {"resent_as": copy.id}
    with pytest.raises(ApiError, match="/variables/city"):
        await client.notifications.send(Message(to="user-7", template="welcome", variables={}))


async def _suppress(client: Client) -> None:
    standing = await client.suppressions.add("ada@example.com")
    assert (standing.reason, standing.channel) == ("manual", "email")
    assert [one.id async for one in client.suppressions.list()] == [standing.id]
    stopped = await client.notifications.send(Message(to="user-7", content={"subject": "No", "text": "No"}))
    assert stopped.notifications[0].status == "suppressed"
    assert stopped.notifications[0].reason
    assert (await client.suppressions.get(standing.id)).address == "a***@example.com"
    taken = await client.suppressions.take_in("address,reason\nold@example.com,manual\nnobody,manual\n")
    assert (taken.taken, taken.refused) == (1, 1)
    assert "o***@example.com" in await client.suppressions.export()
    await client.suppressions.release(standing.id)
    let_through = await client.notifications.send(Message(to="user-7", content={"subject": "Yes", "text": "Yes"}))
    assert let_through.notifications[0].status == "queued"


async def _choose(client: Client) -> None:
    topic = await client.topics.put("tips", {"title": "Tips", "category": "marketing", "default": "opted_in"})
    assert (await client.topics.get("tips"), await client.topics.list()) == (topic, (topic,))
    chosen = await client.preferences.put("user-7", {"channels": {"email": {"topics": {"tips": True}}}})
    assert await client.preferences.get("user-7") == chosen
    said = await client.preferences.consent("user-7", {"topic": "tips", "state": "granted", "source": "signup"})
    assert [one.id async for one in client.preferences.consents("user-7")] == [said.id]
    assert (await client.preferences.verify_consents("user-7")).rows == 1
    assert (await client.settings.get()).consent_policy == "explicit"
    assert (await client.settings.change({"timezone": "Asia/Tokyo"})).timezone == "Asia/Tokyo"
    assert (await client.explain("user-7", topic="tips")).verdict == "allow"
    limits = Limits(tenant=Rate(minute=1_000), marketing_cap=MarketingCap(max=3, per="7d"))
    assert await client.settings.set_limits(limits) == await client.settings.limits() == limits
    await client.settings.set_limits(Limits())
    await client.topics.delete("tips")
