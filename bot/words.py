"""What people type, freed of what phones, copy and paste and Slack put into it."""

from __future__ import annotations

import re

from lessor.typed import single_spaced

_PERSON = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")
_CHANNEL = re.compile(r"<#([CG][A-Z0-9]+)(?:\|[^>]*)?>")
_LINK = re.compile(r"<((?:https?|mailto):[^|>\s]+)(?:\|([^>]*))?>")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def clean(text: str) -> str:
    """Invisible characters become spaces, links become their text, Slack's escapes become the characters typed."""
    text = single_spaced(_LINK.sub(lambda match: match[2] or match[1], text))
    for escaped, typed in _ESCAPES:
        text = text.replace(escaped, typed)
    return text


def first(text: str) -> tuple[str, str]:
    """The first word of a cleaned text in lower case, and the rest."""
    word, _, rest = text.partition(" ")
    return word.lower(), rest


def person_in(word: str) -> str:
    """The id in `<@U0AAA1111|sam>` or `<@W0BBB2222>`; empty when the word is no mention of that form."""
    match = _PERSON.fullmatch(word.strip())
    return match[1] if match else ""


def channel_in(word: str) -> str:
    """The id in `<#C0CCC3333|gpu-eu>`; empty when the word is no mention of that form."""
    match = _CHANNEL.fullmatch(word.strip())
    return match[1] if match else ""
