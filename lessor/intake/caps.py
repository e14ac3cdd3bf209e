"""The most that a lease may cost, as people write it: `cap 500`, `cap of 1,200 EUR`, `capped at $500`, `cap:2k`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from lessor.domain.errors import FieldError, Invalid
from lessor.domain.money import MINOR_DIGITS, Money
from lessor.intake.wording import FLAG, OPTION, squeezed
from lessor.typed import Token, single_spaced

NAMES = frozenset({"cap", "maxcost", "costcap"})
WORDS = frozenset({"cap", "capped"})
JOINING = frozenset({"of", "at", "to"})
SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_COMMON = (
    "AED AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR MXN MYR NOK NZD PHP PLN RON SAR SEK SGD THB TWD USD"
)
KNOWN = frozenset(code for code in (*_COMMON.split(), "ZAR", *MINOR_DIGITS))
"""Codes that are currencies wherever they stand, in any case; the organisation's own is one as well."""
LONGEST = 3
"""Words in the longest amount, such as `1,200 k EUR`."""
AMOUNT = re.compile(
    r"(?P<before>[a-z]{3}|[$€£¥])?\s?(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]{1,4})?|[0-9]{1,12}(?:\.[0-9]{1,4})?)\s?"
    r"(?P<thousands>k)?\s?(?P<after>[a-z]{3}|[$€£¥])?",
    re.IGNORECASE,
)


def read_amount(text: str, currency: str) -> Money | None:
    """The amount that the whole of `text` says, in `currency` where it names none; `None` if it is no amount."""
    match = AMOUNT.fullmatch(single_spaced(text).rstrip(",;"))
    if match is None or (match["before"] and match["after"]):
        return None
    said = (match["before"] or match["after"] or currency).upper()
    code = SYMBOLS.get(said, said)
    if code not in KNOWN and code != currency.upper():
        return None
    amount = Decimal(match["number"].replace(",", "")) * (1_000 if match["thousands"] else 1)
    return Money(amount, code)


def read_cap(text: str, currency: str) -> Money | None:
    """What a form's field says; nothing is no cap. Raises `Invalid` for `cap` with what is allowed."""
    if not single_spaced(text):
        return None
    found = read_amount(text, currency)
    if found is None:
        raise Invalid((FieldError("cap", unread(text, currency)),))
    return found


def unread(text: str, currency: str) -> str:
    """What is wrong with what is no amount; `currency` is the organisation's."""
    return f"'{single_spaced(text)[:40]}' is no amount of money; write it like 500, 1,200.50 or 500 {currency}"


def take_cap(words: Sequence[Token], position: int, currency: str, found: Callable[[str], object]) -> int:
    """How many words from `position` on name a cap, which `found` is told of; 0 if they mean something else."""
    token = words[position]
    option, flag = OPTION.fullmatch(token.text), FLAG.fullmatch(token.text)
    key = token.key or (option[1] if option and not token.quoted else flag[1] if flag else "")
    if squeezed(key) in NAMES:
        return _named(words, position, option[2] if option and not token.key else "", currency, found)
    if token.quoted or token.text.casefold() not in WORDS:
        return 0
    start = position + 1
    start += bool(_plain(words, start, 1).casefold() in JOINING)
    count = _longest(words, start, [], currency)
    if not count:
        return 0
    found(_plain(words, start, count))
    return start + count - position


def _named(words: Sequence[Token], position: int, value: str, currency: str, found: Callable[[str], object]) -> int:
    """The option `cap:`, whose amount may have a word more: what stands there and is none is told as well."""
    token = words[position]
    if token.key:
        found(token.text)
        return 1
    first = [value] if value else []
    count = _longest(words, position + 1, first, currency)
    if not count and not first:
        count = min(1, len(words) - position - 1)
        quoted = words[position + 1].text if count else ""
        found(quoted)
        return 1 + count
    found(" ".join([*first, _plain(words, position + 1, count)]))
    return 1 + count


def _longest(words: Sequence[Token], start: int, first: list[str], currency: str) -> int:
    """How many words make an amount together with `first`; 0 if none do."""
    for count in range(LONGEST, 0, -1):
        text = _plain(words, start, count)
        if text and read_amount(" ".join([*first, text]), currency):
            return count
    return 0


def _plain(words: Sequence[Token], start: int, count: int) -> str:
    """So many unquoted words as one text; empty if there are not so many."""
    chosen = words[start : start + count]
    if len(chosen) < count or any(word.quoted for word in chosen):
        return ""
    return " ".join(word.text for word in chosen)
