"""The provider contract, for pools of the organisation's own machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from lessor.domain.request import Need
from lessor.ledger import SqlLedger
from lessor.providers.machines.running import Ran
from tests.providers.contract import ProviderContract, Subject
from tests.providers.dated_contract import DatedContract
from tests.providers.pool_world import PLACE, PoolWorld


class InAPool:
    """A pool with a provider in it."""

    @pytest.fixture
    def subject(self, sqlite_ledger: SqlLedger, tmp_path: Path) -> Subject:
        world = PoolWorld(tmp_path, sqlite_ledger)
        provider = world.provider()

        def copy_tags(lease: str) -> str:
            taken = {one.machine for one in world.bookings(lease)}
            other = next(one.name for one in world.machines if one.name not in taken)
            world.put_key(other, lease)
            return other

        return Subject(
            provider=provider,
            watch=provider,
            place=PLACE,
            need=Need("A100-80GB", 8),
            order=world.order,
            restart=world.provider,
            existing=world.existing,
            copy_tags=copy_tags,
            break_reads=lambda: world.broken.update(verify=Ran(1, words="no route to host")),
            mend=world.broken.clear,
            throttle=lambda times: setattr(world.book, "refuse", times),
            lose_answer=lambda: setattr(world.book, "lose", 1),
            refuse_all=world.withdraw_all,
            now=world.now,
        )


class TestMachines(InAPool, ProviderContract):
    """The contract of all providers."""


class TestMachinesDated(InAPool, DatedContract):
    """What a pool shows the guard."""
