"""Reads a typed request from left to right; order never matters, and what means nothing else is the purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from lessor.catalog import load_catalogue
from lessor.intake.caps import take_cap
from lessor.intake.draft import Draft, Offered
from lessor.intake.gathering import Gathering, find_place
from lessor.intake.kinds import take_kind
from lessor.intake.needs import LONGEST, NAMES_GPUS, Canonical, Said, read_need, read_unknown
from lessor.intake.several import take_several
from lessor.intake.wording import (
    CLOCKED,
    CONNECTORS,
    END_CONNECTORS,
    END_STARTERS,
    FLAG,
    LENGTH,
    MARKETS,
    OPTION,
    OPTIONS,
    POINTS,
    START_WORDS,
    TIME_NAMES,
    TIME_WORDS,
    WORKLOADS,
    near_option,
    squeezed,
)
from lessor.typed import Token, tokens
from lessor.when import speaks_of_a_start, speaks_of_an_end
from lessor.when.spans import UNIT, parse_span

LOOKS = 300
LONGEST_END = 8
"""Words in the longest end: `until the end of next month 18:00 Europe/Berlin`."""


def parse_request_text(
    text: str, zone: str, now: datetime, offered: Offered, canonical: Canonical | None = None
) -> Draft:
    """The draft that `text` says to a person in `zone`, who can choose from `offered`. No text makes it raise.

    `canonical` knows GPU models by what people call them; the shipped catalogue does by default.
    """
    gathering = Gathering(zone, now, offered, canonical or _catalogue())
    _Reader(tokens(text), gathering).read()
    return gathering.draft()


@lru_cache(maxsize=1)
def _catalogue() -> Canonical:
    return load_catalogue().canonical


@dataclass
class _Reader:
    """Walks over the words once. Each `_take_...` says how many words it took, 0 if they mean something else.

    `looks` is how often it may still ask whether words are GPUs or an end: beyond that a text is a purpose, so that a
    long one keeps nobody waiting. Options such as `team:research` are found wherever they stand.
    """

    words: tuple[Token, ...]
    found: Gathering
    looks: int = LOOKS
    quoted: int = 0

    def read(self) -> None:
        position = 1 if self.words and squeezed(self.words[0].text) == "request" and not self.words[0].quoted else 0
        while position < len(self.words):
            position += self._take(position)

    @property
    def _takes(self) -> tuple[Callable[[int], int], ...]:
        return (
            lambda at: take_cap(self.words, at, self.found.offered.limits.currency, self.found.cap),
            self._take_option,
            lambda at: take_kind(self.words, at, self.found.offered.places, self.found.kind, prose=self._free_text),
            self._take_start,
            lambda at: take_several(self.words, at, self._need, self.found.need) or self._take_need(at),
            self._take_end,
            self._take_joined,
            self._take_word,
        )

    def _take(self, position: int) -> int:
        token = self.words[position]
        if token.quoted and not token.key:
            self.found.words.append(token.text)
            self.quoted += 1
            return 1
        for take in self._takes:
            if taken := take(position):
                return taken
        self.found.words.append(f'{token.key}:"{token.text}"' if token.key else token.text)
        return 1

    def _take_option(self, position: int) -> int:
        """`team:research`, `team: research`, `team="research"`, `--team research`."""
        token = self.words[position]
        flag, match = FLAG.fullmatch(token.text), OPTION.fullmatch(token.text)
        key = token.key or (match[1] if match else flag[1] if flag else "")
        value = token.text if token.quoted else match[2] if match else ""
        name = OPTIONS.get(squeezed(key))
        if not name:
            self._mistyped(key, token)
            return 0
        if name in ("end", "start") and not token.quoted:
            return self._time_option(name, position, value)
        if value or name in ("snapshot", "checkpoints"):
            self.found.option(name, value.rstrip(",;") or "yes")
            return 1
        if position + 1 < len(self.words):
            self.found.option(name, self.words[position + 1].text.rstrip(",;"))
            return 2
        return 0

    def _time_option(self, name: str, position: int, value: str) -> int:
        """The end or start after `until:` may have several words; as many are taken as make sense together."""
        spoken = self._spoken if name == "end" else self._spoken_start
        first = [value] if value else []
        rest = [token.text for token in self.words[position + 1 : position + LONGEST_END] if not token.quoted]
        counts = range(len(rest), -1 if first else 0, -1)
        longest = next((count for count in counts if spoken([*first, *rest[:count]])), None)
        count = longest if longest is not None else 0 if first else min(1, len(rest))
        text = " ".join([*first, *rest[:count]])
        if not text:
            return 0
        self.found.option(name, text)
        return 1 + count

    def _spoken(self, words: list[str]) -> bool:
        self.looks -= 1
        return self.looks > 0 and speaks_of_an_end(" ".join(words), self.found.now, self.found.zone)

    def _spoken_start(self, words: list[str]) -> bool:
        self.looks -= 1
        return self.looks > 0 and speaks_of_a_start(" ".join(words), self.found.now, self.found.zone)

    def _mistyped(self, key: str, token: Token) -> None:
        meant = near_option(key) if key and not token.text.partition(":")[2].startswith("//") else ""
        if meant:
            self.found.wrong("purpose", f"'{key[:40]}:' is no option; did you mean '{meant}:'?")

    def _take_need(self, position: int) -> int:
        for count in range(LONGEST, 0, -1):
            text = self._plain(position, count)
            said = self._need(text) if NAMES_GPUS.search(text) else None
            if said is None or self._number_is_for_what_follows(said, position, count):
                continue
            if self.found.need(said, text):
                return count
            if text[:1].isdigit():
                self.found.wrong("need", f"'{text[:40]}' is asked for as well; one request is for one kind of GPU")
            return 0
        return self._take_unknown(position)

    def _number_is_for_what_follows(self, said: Said, position: int, count: int) -> bool:
        """Whether the last of several words is the `80` of `a100 80gb 80 h` or of `a100 80 hours`."""
        last, following = self.words[position + count - 1].text, self._plain(position + count, 1)
        if count == 1 or not last.isdigit():
            return False
        return following.casefold().rstrip(",;") in UNIT or self._need(self._plain(position, count - 1)) == said

    def _need(self, text: str) -> Said | None:
        self.looks -= 1
        return read_need(text, self.found.canonical) if self.looks > 0 else None

    def _take_unknown(self, position: int) -> int:
        if self.found.said.need:
            return 0
        for count in (3, 2, 1):
            text = self._plain(position, count)
            if said := read_unknown(text) if text else None:
                self.found.need(said, text)
                return count
        return 0

    def _take_start(self, position: int) -> int:
        """`from monday 9:00`, `starting in 2 days`: the longest words that make a start."""
        word = self.words[position]
        if word.quoted or word.text.casefold() not in START_WORDS or self.found.start_text:
            return 0
        for count in range(LONGEST_END, 1, -1):
            text = self._plain(position, count)
            if text and self._means_start(text, position + count) and self._spoken_start([text]):
                self.found.begin(text.rstrip(",;"))
                return count
        return self._take_said_start(position)

    def _take_said_start(self, position: int) -> int:
        """`starting monday`, `starting next week`: as a purpose it would begin at once; what is no instant is asked."""
        if self._free_text and self.words[position].text.casefold() == "from":
            return 0
        rest = [self._plain(position + ahead, 1).casefold().rstrip(",;") for ahead in range(1, LONGEST_END)]
        lead = 1 if rest[0] in ("in", "on", "at") else 0
        past = rest.index("ago") + 1 if "ago" in rest and rest[lead][:1].isdigit() else 0
        count = past or next((at for at in range(lead, len(rest)) if rest[at] not in TIME_WORDS), len(rest))
        if not past and not TIME_NAMES.intersection(rest[:count]):
            return 0
        self.found.begin(self._plain(position + 1, count).rstrip(",;"))
        return count + 1

    @property
    def _free_text(self) -> bool:
        """Whether words without quotes were found that mean nothing else, and so belong to the purpose."""
        return len(self.found.words) > self.quoted

    def _means_start(self, text: str, following: int) -> bool:
        """In a free text, `from` with a weekday alone, or with a number that is no time, is no start.

        What comes last may be the length of the lease, or a number of GPUs.
        """
        said = text.casefold().partition(" ")[2]
        if self._plain(following, 1).casefold().rstrip(",;") == "ago":
            return False
        if said.isdigit() or (text[:4].casefold() == "from" and said[:1].isdigit() and not CLOCKED.search(said)):
            return False
        if LENGTH.search(said) and not said.startswith("in ") and not parse_span(said):
            return False
        counted = said.rpartition(" ")[2].isdigit() and any(
            self._need(self._plain(following - 1, count)) for count in range(2, LONGEST)
        )
        return not counted and (any(letter.isdigit() for letter in text) or not self._free_text)

    def _take_end(self, position: int) -> int:
        """`8h`, `friday 18:00`, `until the end of june`: the longest words that make an end."""
        word = self.words[position].text.casefold()
        following = self._plain(position + 1, 1).casefold() if word in END_CONNECTORS else word
        if not (following[:1].isdigit() or following in END_STARTERS):
            return 0
        for count in range(LONGEST_END, 0, -1):
            text = self._plain(position, count)
            if text and not text.isdigit() and self._spoken([text]) and self._means_end(text, word):
                self.found.until(text.rstrip(",;"))
                return count
        return 0

    def _means_end(self, text: str, word: str) -> bool:
        """In a free text, a weekday or `a day` without a number or a word such as `until` is no end."""
        if self.found.end_text:
            return text[:1].isdigit() or word in POINTS
        return any(letter.isdigit() for letter in text) or word in CONNECTORS or not self._free_text

    def _take_joined(self, position: int) -> int:
        """`in research-us`, `for team research`, `as notebook`: a connector and what it connects."""
        word = self.words[position].text.casefold()
        if word == "team" and self._is_team(position + 1):
            self.found.team(self._plain(position + 1, 1).rstrip(",;"))
            return 2
        if word not in CONNECTORS:
            return 0
        following = self._plain(position + 1, 1).rstrip(",;")
        if word in ("in", "at", "on") and following and find_place(following, self.found.offered.places):
            self.found.place(following)
            return 2
        taken = 2 if following.casefold() == "team" and self._is_team(position + 2) else 0
        taken = self._take_joined(position + 1) if taken else self._take_word(position + 1)
        taken = taken or (self._take_need(position + 1) if word != "and" else 0)
        if not taken and word == "in" and following:
            self.found.nowhere.append(following)
        return taken + 1 if taken else 0

    def _is_team(self, position: int) -> bool:
        name = self._plain(position, 1).rstrip(",;").casefold()
        return any(team.key.casefold() == name for team in self.found.offered.teams)

    def _take_word(self, position: int) -> int:
        """A workload class, a market, or a region or zone standing alone."""
        for count in (2, 1):
            text = self._plain(position, count)
            word = squeezed(text)
            if word in MARKETS:
                self.found.choice("market", text)
                return count
            if word in WORKLOADS and "workload" not in self.found.single:
                self.found.choice("workload", text)
                return count
        text = self._plain(position, 1).rstrip(",;").casefold()
        if text == "snapshot":
            self.found.option("snapshot", "yes")
            return 1
        named = any(text == place.name.casefold() for place in self.found.offered.places)
        if text and not named and self.found.where is None and find_place(text, self.found.offered.places):
            self.found.place(text)
            return 1
        return 0

    def _plain(self, position: int, count: int) -> str:
        """`count` unquoted words from `position` as one text; empty if there are not so many."""
        words = self.words[position : position + count]
        if len(words) < count or any(word.quoted for word in words):
            return ""
        return " ".join(word.text for word in words)
