"""Opens the pools of machines of the configuration, in the words of their provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

from lessor.books import LedgerUnavailableError
from lessor.catalog import Catalogue
from lessor.config import Config, ConfigError, PlaceConfig
from lessor.config.inventory import machines_of
from lessor.config.pools import MachineConfig, MachinesConfig
from lessor.domain.machines import Machine
from lessor.domain.money import Money
from lessor.domain.request import Place
from lessor.ports import Ledger, RetryableError
from lessor.providers.machines import Commands, InventoryError, MachinesProvider, Pool, Who
from lessor.reload import LiveConfig


def machines_provider(live: LiveConfig, folder: Path, ledger: Ledger, catalogue: Catalogue) -> MachinesProvider | None:
    """The provider for all pools, or `None` where there are none. Files of machines are looked for in `folder`.

    A file that cannot be used keeps nothing else from starting: its machines are unknown until it is mended.
    """
    config = live.config
    pools = {one.name: _pool(one, one.machines, folder, config) for one in config.places if one.machines is not None}
    return MachinesProvider(pools, ledger, catalogue, _people(live, ledger)) if pools else None


def grace_of(live: LiveConfig, place: Place) -> timedelta | None:
    """How long a place keeps what has ended, where it says so itself."""
    pools = (one.machines for one in live.config.places if one.name == place.name)
    return next((pool.grace for pool in pools if pool is not None), None)


def _pool(place: PlaceConfig, pool: MachinesConfig, folder: Path, config: Config) -> Pool:
    hooks = pool.hooks
    return Pool(
        name=place.name,
        machines=_Inventory(pool, folder, config.organisation.currency),
        commands=Commands(hooks.grant, hooks.revoke, hooks.verify, hooks.health, hooks.timeout, str(folder.absolute())),
        health_every=pool.health_every,
        clean_up=pool.clean_up,
        grace=pool.grace,
    )


class _Inventory:
    """The machines of a pool, read anew when the file has changed."""

    def __init__(self, pool: MachinesConfig, folder: Path, currency: str) -> None:
        self._pool, self._folder, self._currency = pool, folder, currency
        self._kept: tuple[object, tuple[Machine, ...]] | None = None

    def __call__(self) -> tuple[Machine, ...]:
        try:
            seen = self._seen()
            if self._kept is None or self._kept[0] != seen:
                found = machines_of(self._pool, self._folder)
                self._kept = (seen, tuple(_machine(one, self._currency) for one in found))
            return self._kept[1]
        except ConfigError as error:
            raise InventoryError(str(error)) from error

    def _seen(self) -> object:
        """What tells one version of the file from the next; of one that is not there it is read why."""
        try:
            found = (self._folder / self._pool.inventory).stat()
        except OSError as error:
            return error.errno
        return (found.st_mtime_ns, found.st_size, found.st_ino) if self._pool.inventory else None


def _machine(one: MachineConfig, currency: str) -> Machine:
    return Machine(
        name=one.name,
        model=one.model,
        gpus=one.gpus,
        memory_gib=one.memory_gib,
        address=one.address,
        room=one.room,
        owner=one.owner,
        hourly=Money(one.hourly, currency) if one.hourly is not None else None,
        since=datetime.combine(one.since, time.min, UTC) if one.since else None,
        whole=one.lease == "machine",
        withdrawn=one.withdrawn,
    )


def _people(live: LiveConfig, ledger: Ledger) -> Callable[[str, str], Sequence[Who]]:
    """Who is let in for a lease: its owner and those who share it, as far as they are active people."""

    def people(lease_id: str, owner: str) -> Sequence[Who]:
        try:
            lease = ledger.lease(lease_id)
        except LedgerUnavailableError as error:
            raise RetryableError(f"who shares {lease_id} cannot be read now: {error}", "ledger") from error
        config = live.config
        shared = [one.id for one in lease.co_owners] if lease else []
        known = {one.id: one for one in config.organisation.people if one.active}
        refs = (ref for one in (owner, *shared) for ref in _members(config, one))
        ids = dict.fromkeys(config.person_id(ref) or "" for ref in refs)
        return [Who(known[one].id, known[one].email) for one in ids if one in known]

    return people


def _members(config: Config, who: str) -> Sequence[str]:
    """A person, or everybody of a team with which a lease is shared as `team:KEY`."""
    if not who.startswith("team:"):
        return (who,)
    team = config.organisation.teams.get(who.removeprefix("team:"))
    return (team.lead, *team.members) if team else ()
