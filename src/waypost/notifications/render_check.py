"""Renders once for everyone at submit, so that a missing variable is refused at the door and not found at dispatch."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from waypost.kernel.errors import FieldError, Refused, refuse
from waypost.kernel.work import Transaction
from waypost.notifications.drafts import Words
from waypost.notifications.intent import Intent
from waypost.notifications.model import SubmitCommand
from waypost.recipients.model import Resolved
from waypost.templates.ports import Renderer, RenderFailure, RenderJob

_CONTROL: Final = re.compile(rb"\\[nrtbf]|\\u00[01]")


class RenderCheck:
    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    async def check(self, tx: Transaction, intents: Sequence[Intent]) -> None:
        put_into_words(tx.tenant_id, intents)
        trials: list[tuple[Intent, Words, Resolved]] = []
        jobs: list[RenderJob] = []
        for intent in intents:
            for seen, said in zip(intent.people, intent.words, strict=True):
                for person, words in zip(seen, said, strict=True):
                    trials.append((intent, words, person))
                    jobs.append(_job(tx.tenant_id, words, person))
        if not trials:
            return
        failures = await self._renderer.try_out(jobs)
        if failures.count(None) == len(failures):
            return
        for (intent, words, person), job, failure in zip(trials, jobs, failures, strict=True):
            if intent.answer is None and failure is not None:
                intent.refuse(_refused(intent.command, job, words.wording.mentioned, person, failure))


def put_into_words(tenant_id: str, intents: Sequence[Intent]) -> None:
    """What each person is told on each leg."""
    for intent in intents:
        legs, command = intent.legs, intent.command
        words: list[list[Words]] = []
        for seen in intent.people:
            told: list[Words] = []
            for leg, person in zip(legs, seen, strict=True):
                told.append(leg.chosen.words_for(tenant_id, person, command))
            words.append(told)
        intent.words = words


def _job(tenant_id: str, words: Words, person: Resolved) -> RenderJob:
    wording = words.wording
    return RenderJob(tenant_id, wording.id, wording.content, words.context, person.locale, person.timezone)


def _refused(
    command: SubmitCommand, job: RenderJob, mentioned: frozenset[str], person: Resolved, failure: RenderFailure
) -> Refused:
    """Points at the missing variable where there is one, else at the content, and says for whom it failed."""
    whom = f" (for /to/{person.position})" if command.to_is_list else ""
    detail = failure.message + whom
    bare = {name for name in mentioned if name.partition(".")[0] not in ("recipient", "tenant")}
    missing = sorted(bare - job.context.keys()) if failure.code == "missing_variable" else []
    if missing:
        message = f"The content reads this; give it here or as an attribute of the recipient{whom}."
        errors = [FieldError(pointer=f"/variables/{name}", code=failure.code, message=message) for name in missing]
        return Refused(detail, code=failure.code, errors=errors)
    broken = sorted(name for name in bare & command.variables.keys() if _breaks_lines(command.variables[name]))
    if failure.code == "header_refused" and broken:
        errors = [FieldError(pointer=f"/variables/{name}", code=failure.code, message=detail) for name in broken]
        return Refused(detail, code=failure.code, errors=errors)
    place = failure.pointer
    if command.inline is not None and place == "/html":
        place = f"/{command.inline.field}"
    pointer = f"/content{place}" if command.own_content is not None else "/template"
    return refuse(pointer, failure.code, detail)


def _breaks_lines(value: object) -> bool:
    """Does it hold a control character, at any depth? In JSON these are written as escapes."""
    return _CONTROL.search(msgspec.json.encode(value)) is not None
