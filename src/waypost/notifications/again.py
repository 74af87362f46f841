"""A message said before, on its way to be said once more: what it was made of takes the place of a choice."""

from waypost.notifications.drafts import Chosen, Words
from waypost.notifications.model import SubmitCommand
from waypost.recipients.model import Resolved


class SaidBefore(Chosen, frozen=True, kw_only=True, gc=False):
    """Word for word, whatever has become of template and recipient since."""

    words: Words

    def words_for(self, tenant_id: str, person: Resolved, command: SubmitCommand) -> Words:
        words = self.words
        # A draft takes the secrets out of its context: each gets one of its own.
        return Words(words.locale, words.wording, dict(words.context))


class SendAgain(SubmitCommand, frozen=True, kw_only=True, gc=False):
    """A call like any other, but for its content: that is not looked up by `template`, it is `chosen`."""

    chosen: SaidBefore
