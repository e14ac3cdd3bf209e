"""The configuration in force while a program runs: a changed `lessor.yaml` is taken up, a bad one changes nothing.

What is bound when a program starts stays as it is until the next start: the places' accounts and regions, Slack's
channels and mode, notification channels, the pause of the sweep, the sources of telemetry and how often they are read.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import structlog

from lessor.config import Config, ConfigError, Problem, load, load_bytes
from lessor.config.model import PlaceConfig
from lessor.contracts import Alarm, Delivery, PageInput
from lessor.directory import ConfigDirectory
from lessor.domain.people import Person, Presence
from lessor.ports import Team

log = structlog.get_logger(__name__)

LOOK_SECONDS = 3.0
"""How often the file is looked at."""

TELL_AGAIN_SECONDS = 60.0
"""How long after the administrators could not be reached it is tried again."""

SETTLED_NS = 5_000_000_000
"""A file written less than this before it was read may have been written again within one tick of its clock."""

ABOUT_PLACES = frozenset({"label", "residency", "encrypted", "public_address"})
"""What of a place can change while a program runs: it is only told and judged by."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class Trouble:
    """A file that cannot be used, as it was seen twice. `digest` is that of its content, empty if it cannot be read."""

    file: str
    digest: str
    error: str

    @property
    def page(self) -> PageInput:
        """The words for administrators; the same content is one subject, however many programs read it."""
        return PageInput(
            Alarm.CONFIGURATION,
            f"{self.file} {self.digest[:8]}".strip(),
            f"{self.file} was changed and cannot be used, so everything goes on with the one before. Put it right, and "
            f"it is taken up within seconds; `lessor config check` says the same:\n{self.error}",
        )


class LiveConfig:
    """Holds the configuration in force. `look` reads the file again if it has changed; everything else only asks."""

    def __init__(self, config: Config, path: Path | None = None, digest: str = "") -> None:
        self._config = config
        self._path = path
        self._started = {place.name: place for place in config.places}
        self._telemetry = config.telemetry
        self._seen: tuple[int, ...] = ()
        self._digest = digest
        self._suspect: tuple[str, str] | None = None
        self._told: str | None = None

    @staticmethod
    def read(path: str | Path) -> LiveConfig:
        """The configuration of a file. Raises `ConfigError`."""
        file = Path(path)
        # Before it is loaded: what is written in between differs from this, and is taken up at the first look.
        digest = _digest(file.read_bytes()) if file.is_file() else ""
        return LiveConfig(load(file), file, digest)

    @property
    def config(self) -> Config:
        return self._config

    def derived(self, make: Callable[[Config], Made]) -> Callable[[], Made]:
        """What `make` makes of the configuration in force, made again only when that has changed."""
        kept = (self._config, make(self._config))

        def current() -> Made:
            nonlocal kept
            config = self._config
            if kept[0] is not config:
                kept = (config, make(config))
            return kept[1]

        return current

    def look(self) -> Trouble | None:
        """Take up a changed file. Trouble is returned once, when the same fault was seen at two looks in a row.

        A file that is missing or half written for a moment is no trouble.
        """
        if self._path is None:
            return None
        try:
            seen = _signature(self._path)
            if seen == self._seen:
                return self._doubt(*self._suspect) if self._suspect else None
            raw = self._path.read_bytes()
        except OSError as error:
            missing = Problem(0, "", f"cannot be read: {error.strerror or error}; put it back")
            self._seen = ()
            return self._doubt("", str(ConfigError(self._path.name, [missing])))
        self._seen = seen if time.time_ns() - seen[0] > SETTLED_NS else ()
        return self._taken(raw)

    def _taken(self, raw: bytes) -> Trouble | None:
        digest = _digest(raw)
        if digest == self._digest:
            self._suspect = self._told = None
            return None
        try:
            new = load_bytes(raw, self._path.name if self._path else "")
        except ConfigError as error:
            return self._doubt(digest, str(error))
        self._adopt(new)
        self._digest, self._suspect, self._told = digest, None, None
        return None

    def _adopt(self, new: Config) -> None:
        """Put `new` in force, with the places and the telemetry that this program was started with."""
        places = tuple(self._bound(place) for place in new.places if place.name in self._started)
        waiting = [place.name for place in new.places if self._needs_a_start(place)]
        if waiting:
            log.warning("configuration-waits-for-a-start", places=waiting)
        telemetry = self._telemetry.model_copy(update={"keep": new.telemetry.keep})
        if telemetry != new.telemetry:
            log.warning("configuration-waits-for-a-start", telemetry=new.telemetry.sources)
        before = self._config.version
        self._config = new.model_copy(update={"places": places or self._config.places, "telemetry": telemetry})
        log.info("configuration-taken-up", file=new.file, before=before, now=new.version)

    def _bound(self, place: PlaceConfig) -> PlaceConfig:
        return self._started[place.name].model_copy(update={name: getattr(place, name) for name in ABOUT_PLACES})

    def _needs_a_start(self, place: PlaceConfig) -> bool:
        return place.name not in self._started or self._bound(place) != place

    def _doubt(self, digest: str, error: str) -> Trouble | None:
        """Trouble, if it is the same as at the last look and was not told before."""
        again = self._suspect is not None and self._suspect[0] == digest
        self._suspect = (digest, error)
        if not again or self._told == digest:
            return None
        self._told = digest
        file = self._path.name if self._path else ""
        log.error("configuration-refused", file=file, why=error[:2_000], in_force=self._config.version)
        return Trouble(file, digest, error)


class LiveDirectory:
    """`ports.Directory` over the people of the configuration in force."""

    def __init__(self, live: LiveConfig) -> None:
        self._now = live.derived(ConfigDirectory)

    async def person(self, any_id: str) -> Person | None:
        return await self._now().person(any_id)

    async def members(self, ref: str) -> tuple[Person, ...]:
        return await self._now().members(ref)

    async def everybody(self) -> tuple[Person, ...]:
        return await self._now().everybody()

    async def presences(self, ids: Collection[str]) -> dict[str, Presence]:
        return await self._now().presences(ids)

    def team(self, key: str) -> Team | None:
        return self._now().team(key)


async def keep_current(
    live: LiveConfig,
    tell: Callable[[PageInput], Awaitable[Delivery]] | None = None,
    *,
    every: float = LOOK_SECONDS,
    again: float = TELL_AGAIN_SECONDS,
) -> None:
    """Look at the file for ever, and have administrators told of what cannot be used until somebody was reached."""
    untold: Trouble | None = None
    due = 0.0
    while True:
        await asyncio.sleep(every)
        trouble = await asyncio.to_thread(live.look)
        if trouble is not None:
            untold, due = trouble, 0.0
        if untold is None or tell is None or time.monotonic() < due:
            continue
        due = time.monotonic() + again
        try:
            delivered = await tell(untold.page)
        except Exception as error:
            log.warning("configuration-untold", why=str(error)[:200])
            continue
        untold = None if delivered.delivered else untold


def _signature(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
