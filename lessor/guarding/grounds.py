"""What the guard looks at and acts on: places by their own word, and the ledger, if it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Protocol
from urllib.parse import unquote, urlsplit

from lessor.domain.guarding import Roll, Strays
from lessor.domain.lease import Event, Lease
from lessor.domain.request import Place
from lessor.ledger import SqlLedger, open_ledger
from lessor.ledger.snapshots import UnreadableSnapshotError
from lessor.ports import Dated, Heartbeat, LedgerUnavailableError, PermanentError, Provider, ProviderError
from lessor.providers.machines.ends import UNKNOWN_WITHOUT


class Grounds(Protocol):
    """Places and the ledger, as the guard needs them. Calls block."""

    @property
    def places(self) -> tuple[Place, ...]: ...

    def dated(self, place: Place) -> Roll:
        """As `ports.Dated` does; raises nothing that a place can answer."""
        ...

    def unleased(self, place: Place) -> Strays: ...

    def stop(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        """The provider's own stop. Raises `ProviderError`."""
        ...

    def leases(self, ids: Sequence[str]) -> Mapping[str, Lease | None]:
        """What the ledger has of them; `None` is what it does not have, and one whose record is damaged is left out.

        Raises `LedgerUnavailableError`.
        """
        ...

    def note(self, lease_id: str, event: Event) -> None:
        """Put on record what the guard did with a lease. Raises `LedgerUnavailableError` or `ValueError`."""
        ...


class Records:
    """The ledger, opened when it can be and never made, filled or brought up to date: that is the worker's."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: SqlLedger | None = None
        self._lock = Lock()

    def open(self) -> SqlLedger:
        """The ledger. Raises `LedgerUnavailableError` while there is none."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def leases(self, ids: Sequence[str]) -> Mapping[str, Lease | None]:
        """Each by itself, so that one damaged record hides no other. Raises `LedgerUnavailableError`."""
        ledger = self.open()
        found: dict[str, Lease | None] = {}
        for one in ids:
            with suppress(UnreadableSnapshotError):
                found[one] = ledger.lease(one)
        return found

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def _open(self) -> SqlLedger:
        file = unquote(urlsplit(self._url).path.removeprefix("/")) if self._url.startswith("sqlite:///") else ""
        if file and not Path(file).is_file():
            # To open it would make an empty one, which would seem to know of no lease.
            raise LedgerUnavailableError(f"there is no ledger at {file}")
        try:
            return open_ledger(self._url, migrate=False)
        except ValueError as error:
            raise LedgerUnavailableError(str(error)) from error


class ConfiguredGrounds:
    """The places of the configuration. `providers` by kind; pools of machines need the `records` to be known at all."""

    def __init__(
        self,
        places: Sequence[Place],
        providers: Mapping[str, Provider],
        machines: Callable[[SqlLedger], Provider | None],
        records: Records,
    ) -> None:
        self._places, self._providers, self._machines = tuple(places), dict(providers), machines
        self._records = records

    @property
    def places(self) -> tuple[Place, ...]:
        return self._places

    def dated(self, place: Place) -> Roll:
        try:
            found = self._provider(place)
            return found.dated(place) if isinstance(found, Dated) else Roll(problems=(_mute(place),))
        except (ProviderError, LedgerUnavailableError) as error:
            return Roll(problems=(str(error),))

    def unleased(self, place: Place) -> Strays:
        try:
            found = self._provider(place)
            return found.unleased(place) if isinstance(found, Dated) else Strays()
        except (ProviderError, LedgerUnavailableError) as error:
            return Strays(problems=(str(error),))

    def stop(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        try:
            return self._provider(place).stop(lease_id, place, heartbeat)
        except LedgerUnavailableError as error:
            raise PermanentError(str(error), "ledger") from error

    def leases(self, ids: Sequence[str]) -> Mapping[str, Lease | None]:
        return self._records.leases(ids)

    def note(self, lease_id: str, event: Event) -> None:
        self._records.open().note(lease_id, event)

    def _provider(self, place: Place) -> Provider:
        if place.provider == "machines" and "machines" not in self._providers:
            try:
                made = self._machines(self._records.open())
            except LedgerUnavailableError as error:
                raise LedgerUnavailableError(f"{error}; {UNKNOWN_WITHOUT}") from error
            if made is not None:
                self._providers["machines"] = made
        found = self._providers.get(place.provider)
        if found is None:
            raise PermanentError(f"no provider of kind {place.provider} is there for {place.name}", "unknown-place")
        return found


def _mute(place: Place) -> str:
    return f"{place.name} shows no ends: places of kind {place.provider} cannot be guarded"
