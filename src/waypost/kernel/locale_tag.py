"""Locales as people write them: `en`, `de-AT`, `zh-Hant-TW`. Unknown languages and regions are no locales."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_TAG: Final = re.compile(
    r"(?P<language>[A-Za-z]{2,3})(?:-(?P<script>[A-Za-z]{4}))?(?:-(?P<region>[A-Za-z]{2}|[0-9]{3}))?"
    r"(?P<variants>(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3})){0,2})\Z"
)
_LONGEST: Final = 32
_LANGUAGE_WORDS: Final = """
    aa ab ae af agq ak am an ann apc ar arn as asa ast av ay az ba bal bas be bem bew bez bg bgc bgn bho bi blo blt bm
    bn bo br brx bs bss byn ca cad cch ccp ce ceb cgg ch cho chr cic ckb co cop cr cs csw cu cv cy da dav de dje doi
    dsb dua dv dyo dz ebu ee el en eo es et eu ewo fa ff fi fil fj fo fr frr fur fy ga gaa gd gez gl gn gsw gu guz gv
    ha haw he hi hnj ho hr hsb ht hu hy hz ia id ie ig ii ik io is it iu ja jbo jgo jmc jv ka kaa kab kaj kam kcg kde
    kea ken kg kgp khq ki kj kk kkj kl kln km kn ko kok kpe kr ks ksb ksf ksh ku kv kw kxv ky la lag lb lg li lij lkt
    lld lmo ln lo lrc lt ltg lu luo luy lv mai mas mdf mer mfe mg mgh mgo mh mhn mi mic mk ml mn mni moh mr ms mt mua
    mus my myv mzn na naq nb nd nds ne ng nl nmg nn nnh no nqo nr nso nus nv ny nyn oc oj om or os osa pa pap pcm pi
    pis pl prg ps pt qu quc raj rhg rif rm rn ro rof ru rw rwk sa sah saq sat sbp sc scn sd sdh se seh ses sg sh shi
    shn si sid sk skr sl sm sma smj smn sms sn so sq sr ss ssy st su sv sw syr szl ta te teo tg th ti tig tk tl tn to
    tok tpi tr trv trw ts tt tw twq ty tyv tzm ug uk ur uz vai ve vec vi vmw vo vun wa wae wal wbp wo xh xnr xog yav
    yi yo yrl yue za zgh zh zu
"""
_REGION_WORDS: Final = """
    001 002 009 019 142 150 419 AC AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN
    BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CP CQ CR CU CV CW CX CY CZ DE DG DJ DK DM DO DZ EA
    EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU
    IC ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA
    MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF
    PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ
    TA TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
"""
_RIGHT_WORDS: Final = "ar arc ckb dv fa he khw ks lrc mzn nqo pnb ps rhg sd sdh syr ug ur yi"
_RIGHT_SCRIPTS: Final = "Adlm Arab Hebr Nkoo Rohg Syrc Thaa"

_LANGUAGES: Final = frozenset(_LANGUAGE_WORDS.split())
_REGIONS: Final = frozenset(_REGION_WORDS.split())
_FROM_THE_RIGHT: Final = frozenset(_RIGHT_WORDS.split())
_SCRIPTS_FROM_THE_RIGHT: Final = frozenset(_RIGHT_SCRIPTS.split())


def spell_locale(text: str) -> str | None:
    """The tag in its one spelling; None where there is no such locale."""
    return _spelled(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=1_000)
def _spelled(text: str) -> str | None:
    match = _TAG.match(text)
    if match is None:
        return None
    language, region = match["language"].lower(), (match["region"] or "").upper()
    if language not in _LANGUAGES or (region and region not in _REGIONS):
        return None
    parts = (language, (match["script"] or "").title(), region, match["variants"].lower().strip("-"))
    return "-".join(part for part in parts if part)


def less_exact(tag: str) -> Iterator[str]:
    """The tag, then what it is a case of: `zh-Hant-TW`, `zh-Hant`, `zh`."""
    while tag:
        yield tag
        tag = tag.rpartition("-")[0]


def reads_from_right(tag: str) -> bool:
    language, *rest = tag.split("-")
    scripts = [part for part in rest if len(part) == 4 and part.isalpha()]
    return scripts[0] in _SCRIPTS_FROM_THE_RIGHT if scripts else language in _FROM_THE_RIGHT
