"""`/gpu ...` by its first word. Whatever is typed gets an answer; an unknown word gets the nearest known one."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from bot import words
from bot.ask import Ask
from bot.attending import Attending
from bot.browsing import Browsing
from bot.desk import Desk
from bot.entering import Entering
from bot.fleet import FleetView
from bot.governing import Governing
from bot.handing import Handing
from bot.idling import Idling
from bot.moving import Moving
from bot.reckoning import Reckoning
from bot.requesting import Requesting
from lessor.contracts import Verb
from lessor.domain.identity import parse_lease_id

HANDED = (Verb.TRANSFER, Verb.TAKE, Verb.SHARE, Verb.UNSHARE)

Run = Callable[[Ask, str], Awaitable[None]]


class Commands:
    """The text commands, the same for the slash command, a direct message and a mention."""

    def __init__(
        self,
        desk: Desk,
        requesting: Requesting,
        browsing: Browsing,
        moving: Moving,
        handing: Handing,
        attending: Attending,
        reckoning: Reckoning,
        idling: Idling,
        governing: Governing,
        fleet: FleetView,
        entering: Entering,
    ) -> None:
        self._desk = desk
        self._browsing = browsing
        self._known: dict[str, Run] = {
            "help": self._help,
            "request": lambda ask, rest: requesting.command(replace(ask, text=rest)),
            "list": browsing.list,
            "show": browsing.show,
            "extend": lambda ask, rest: moving.command(ask, rest, Verb.EXTEND),
            "shorten": lambda ask, rest: moving.command(ask, rest, Verb.SHORTEN),
            "restore": lambda ask, rest: moving.command(ask, rest, Verb.RESTORE),
            "exempt": lambda ask, rest: moving.command(ask, rest, Verb.EXEMPT),
            "release": lambda ask, rest: browsing.confirm(ask, rest, Verb.RELEASE),
            "withdraw": lambda ask, rest: browsing.confirm(ask, rest, Verb.WITHDRAW),
            "snooze": lambda ask, rest: moving.command(ask, rest, Verb.SNOOZE),
            "dispute": lambda ask, rest: idling.command(ask, rest, Verb.DISPUTE),
            "stop": lambda ask, rest: browsing.confirm(ask, rest, Verb.STOP),
            "start": lambda ask, rest: idling.command(ask, rest, Verb.START),
            "consent": lambda ask, rest: idling.command(ask, rest, Verb.CONSENT),
            **{verb.value: partial(handing.command, verb=verb) for verb in HANDED},
            "away": attending.away,
            "back": attending.back,
            "quota": reckoning.command,
            "fleet": fleet.command,
            "access": entering.command,
            "admin": governing.command,
        }

    @property
    def known(self) -> tuple[str, ...]:
        """The first words that are understood."""
        return tuple(self._known)

    async def run(self, ask: Ask) -> None:
        """Do what the text says, or say what could be meant."""
        text = words.clean(ask.text)
        word, rest = words.first(text)
        if word in self._known:
            await self._known[word](ask, rest)
        elif not word:
            await self._help(ask, "")
        elif word.startswith("gpu-") and parse_lease_id(word):
            await self._browsing.show(ask, word)
        else:
            await self._unknown(ask, word)

    async def _help(self, ask: Ask, rest: str) -> None:
        await self._desk.reply(ask, self._desk.message("help.j2", unknown="", nearest=""))

    async def _unknown(self, ask: Ask, word: str) -> None:
        nearest = difflib.get_close_matches(word, self._known, n=1, cutoff=0.0)
        await self._desk.reply(ask, self._desk.message("help.j2", unknown=word[:40], nearest=nearest[0]))
