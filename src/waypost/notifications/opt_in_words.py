"""What the double opt-in mail says, in the languages we speak ourselves."""

from dataclasses import dataclass
from typing import Final

from waypost.kernel.locale_tag import less_exact


@dataclass(frozen=True, kw_only=True, slots=True)
class OptInWords:
    """`subject` and `ask` read `topic` and `sender` as templates do."""

    subject: str
    ask: str
    button: str
    otherwise: str
    all_marketing: str
    direction: str = "ltr"

    @property
    def text(self) -> str:
        return f"{self.ask}\n\n{{{{ confirm_url }}}}\n\n{self.otherwise}\n"

    @property
    def html(self) -> str:
        return (
            f'<!doctype html><html dir="{self.direction}"><body style="font-family: sans-serif; line-height: 1.5">'
            f"<p>{self.ask}</p>"
            f'<p><a href="{{{{ confirm_url }}}}" style="display: inline-block; padding: 12px 20px; '
            f'background: #14532d; color: #ffffff; text-decoration: none; border-radius: 6px">{self.button}</a></p>'
            f"<p>{self.otherwise}</p></body></html>"
        )


_WORDS: Final = {
    "en": OptInWords(
        subject="Please confirm: {{ topic }}",
        ask="Someone, hopefully you, asked {{ sender }} to send “{{ topic }}” to this address. Please confirm it.",
        button="Yes, I want this",
        otherwise="If it was not you, do nothing: you will not hear from us about it. The link works for seven days.",
        all_marketing="news and offers",
    ),
    "de": OptInWords(
        subject="Bitte bestätigen: {{ topic }}",
        ask="Jemand, hoffentlich du, möchte „{{ topic }}“ von {{ sender }} an diese Adresse bekommen. "
        "Bitte bestätige es.",
        button="Ja, das möchte ich",
        otherwise="Warst du es nicht, tu einfach nichts: Dann hörst du dazu nichts mehr. Der Link gilt sieben Tage.",
        all_marketing="Neuigkeiten und Angebote",
    ),
    "fr": OptInWords(
        subject="Merci de confirmer : {{ topic }}",
        ask="Quelqu’un, vous espérons-nous, souhaite recevoir « {{ topic }} » de {{ sender }} à cette adresse. "
        "Merci de le confirmer.",
        button="Oui, je le souhaite",
        otherwise="Si ce n’était pas vous, ne faites rien : vous ne recevrez rien. Le lien est valable sept jours.",
        all_marketing="actualités et offres",
    ),
    "es": OptInWords(
        subject="Confirma, por favor: {{ topic }}",
        ask="Alguien, esperamos que tú, quiere recibir «{{ topic }}» de {{ sender }} en esta dirección. "
        "Confírmalo, por favor.",
        button="Sí, lo quiero",
        otherwise="Si no fuiste tú, no hagas nada: no recibirás nada. El enlace vale siete días.",
        all_marketing="novedades y ofertas",
    ),
    "ar": OptInWords(
        subject="يرجى التأكيد: {{ topic }}",
        ask="طلب شخص ما، ونأمل أن يكون أنت، تلقي «{{ topic }}» من {{ sender }} على هذا العنوان. يرجى تأكيد ذلك.",
        button="نعم، أريد ذلك",
        otherwise="إن لم تكن أنت فلا تفعل شيئًا، ولن يصلك شيء. الرابط صالح لسبعة أيام.",
        all_marketing="الأخبار والعروض",
        direction="rtl",
    ),
}


def words_in(locale: str | None) -> OptInWords:
    for tag in less_exact(locale or ""):
        if tag in _WORDS:
            return _WORDS[tag]
    return _WORDS["en"]
