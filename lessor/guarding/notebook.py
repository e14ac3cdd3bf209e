"""What the guard remembers between two looks, in one small file: without it a restart would repeat or forget notices.

The file is written beside and then put in place, so that it is old or new and never half of both. One that cannot be
read is moved aside and begun anew: then people are told again, and everything waits for its notice again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import RLock
from typing import Any

import structlog

from lessor.domain.guarding import Overdue
from lessor.domain.records import MessageRef
from lessor.guarding.tidings import Tiding, as_facts, of_facts

VERSION = 1
KEPT = timedelta(days=40)
"""How long it is remembered that something was told."""

BEGUN = timedelta(days=1)
"""How long what becomes of a stop that was begun is still that stop's doing."""

UNTOLD_MOST = 500

log = structlog.get_logger(__name__)


class BusyError(Exception):
    """Another guard works with the same file. The text says what to do."""


@dataclass
class Page:
    """What is remembered: leases that are late, what was stopped or begun to be when, what was told, what nobody heard,
    until when the ledger said last that leases run, and which it said last that it does not know, when.
    """

    overdue: dict[str, Overdue] = field(default_factory=dict)
    begun: dict[str, datetime] = field(default_factory=dict)
    stopped: dict[str, datetime] = field(default_factory=dict)
    unread: dict[str, int] = field(default_factory=dict)
    messages: dict[str, tuple[MessageRef, datetime]] = field(default_factory=dict)
    untold: dict[str, Tiding] = field(default_factory=dict)
    heard: dict[str, datetime] = field(default_factory=dict)
    strangers: dict[str, datetime] = field(default_factory=dict)
    looked_at: datetime | None = None


class Notebook:
    """The file, and a `MessageBook` for the channels. `problem` says what was wrong with it; empty if nothing was."""

    def __init__(self, path: Path, clock: Callable[[], datetime]) -> None:
        self.path, self._clock = path, clock
        self.page = Page()
        self._lost, self._unwritten, self._owned_up = "", "", False
        self._lock = RLock()
        self._keeps = True

    @property
    def problem(self) -> str:
        """What is wrong now, or was forgotten and nobody has heard yet."""
        return "; ".join(filter(None, (self._lost, self._unwritten)))

    def own_up(self) -> None:
        """People have heard what was forgotten: it is over with the next look, unless it happens again."""
        self._owned_up = True

    @contextmanager
    def held(self, *, keep: bool = True) -> Iterator[Page]:
        """The page as the file has it, for this process alone; written back at the end, if it is to `keep`.

        Raises `BusyError`. A directory that cannot be written keeps nobody from looking: it is a problem, and what is
        remembered lasts as long as the process.
        """
        with self._alone():
            self._lost, self._owned_up = "" if self._owned_up else self._lost, False
            self._read()
            self._keeps = keep
            try:
                yield self.page
            finally:
                self.save()
                self._keeps = True

    def save(self) -> None:
        """Write it down now, old or new and never half."""
        with self._lock:
            if not self._keeps:
                return
            self._prune()
            beside = self.path.with_suffix(".new")
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with beside.open("w", encoding="utf-8") as file:
                    json.dump(_written(self.page), file, indent=1)
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(self.path)
                self._unwritten = ""
            except OSError as error:
                self._unwritten = (
                    f"{self.path} cannot be written ({error.strerror or error}): after a restart people are told "
                    "again, and everything waits for its notice again"
                )

    def message(self, key: str) -> MessageRef | None:
        with self._lock:
            known = self.page.messages.get(key)
            return known[0] if known else None

    def save_message(self, ref: MessageRef) -> None:
        with self._lock:
            self.page.messages[ref.key] = (ref, self._clock())
            self.save()

    def messages(self, lease_id: str) -> tuple[MessageRef, ...]:
        with self._lock:
            return tuple(ref for ref, _ in self.page.messages.values() if ref.lease_id == lease_id)

    def confirmed(self, tiding: str) -> int:
        """To how many recipients a tiding has gone, by its key."""
        with self._lock:
            return sum(1 for key, (ref, _) in self.page.messages.items() if ref.ts and f"/{tiding}/" in f"{key}/")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            # Nothing can be kept there, and so nothing can be shared either: `save` says it.
            yield
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise BusyError(
                f"another guard is looking right now, with {self.path}; nothing was done. Wait until it is through, or "
                "ask that one: its log says what it found"
            ) from None
        except OSError as error:
            # A file system without locks, as some network shares: to look unlocked is better than never to look.
            log.warning("guard-not-locked", file=str(self.path), why=error.strerror or str(error))
        try:
            yield
        finally:
            os.close(lock)

    def _read(self) -> None:
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            self._lost = f"{self.path} cannot be read ({error.strerror or error}); what was told before is not known"
            return
        try:
            self.page = _read_page(json.loads(raw))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._set_aside(error)

    def _set_aside(self, error: Exception) -> None:
        aside = self.path.with_name(f"{self.path.name}.broken-{self._clock():%Y%m%dT%H%M%S}")
        self._lost = (
            f"{self.path.name} could not be understood ({type(error).__name__}) and was moved to {aside.name}: people "
            "are told again, and everything waits for its notice again"
        )
        self.page = Page()
        try:
            self.path.replace(aside)
        except OSError as failed:
            self._lost += f"; it could not be moved ({failed.strerror or failed}) and is written over"

    def _prune(self) -> None:
        now, page = self._clock(), self.page
        page.messages = {key: one for key, one in page.messages.items() if now - one[1] < KEPT}
        page.untold = dict(list(page.untold.items())[-UNTOLD_MOST:])
        page.heard = {lease: until for lease, until in page.heard.items() if until > now}
        page.strangers = {lease: at for lease, at in page.strangers.items() if now - at < KEPT}
        page.begun = {key: at for key, at in page.begun.items() if now - at < BEGUN}
        page.stopped = {key: at for key, at in page.stopped.items() if now - at < KEPT}


def _written(page: Page) -> dict[str, Any]:
    return {
        "version": VERSION,
        "looked_at": _iso(page.looked_at),
        "overdue": {
            key: {"ends": _iso(one.ends), "seen_at": _iso(one.seen_at), "told_at": _iso(one.told_at)}
            for key, one in page.overdue.items()
        },
        "begun": {key: _iso(at) for key, at in page.begun.items()},
        "stopped": {key: _iso(at) for key, at in page.stopped.items()},
        "unread": page.unread,
        "messages": [{**vars(ref), "at": _iso(at)} for ref, at in page.messages.values()],
        "heard": {lease: _iso(until) for lease, until in page.heard.items()},
        "strangers": {lease: _iso(at) for lease, at in page.strangers.items()},
        "untold": {key: as_facts(one) for key, one in page.untold.items()},
    }


def _read_page(found: Any) -> Page:
    """Raises ValueError, KeyError, TypeError or AttributeError for what a guard of this version did not write."""
    if found["version"] != VERSION:
        raise ValueError(f"version {found['version']}")
    refs = [
        (MessageRef(str(one["key"]), str(one["lease_id"]), str(one["channel"]), str(one["ts"])), _at(one["at"]))
        for one in found["messages"]
    ]
    return Page(
        {
            key: Overdue(_at(one["ends"]), _at(one["seen_at"]), _at(one["told_at"]) if one["told_at"] else None)
            for key, one in found["overdue"].items()
        },
        {key: _at(at) for key, at in found.get("begun", {}).items()},
        {key: _at(at) for key, at in found["stopped"].items()},
        {key: int(count) for key, count in found["unread"].items()},
        {ref.key: (ref, at) for ref, at in refs},
        {key: of_facts(one) for key, one in found["untold"].items()},
        {lease: _at(until) for lease, until in found.get("heard", {}).items()},
        {lease: _at(at) for lease, at in found.get("strangers", {}).items()},
        _at(found["looked_at"]) if found["looked_at"] else None,
    )


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _at(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text} has no zone")
    return at
