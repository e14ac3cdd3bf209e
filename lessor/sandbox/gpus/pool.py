"""The machines of the sandbox's pool that somebody gets into: their exporters are asked like any others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lessor.catalog import Catalogue
from lessor.config import ConfigError, load
from lessor.config.inventory import machines_of
from lessor.config.pools import MachineConfig
from lessor.sandbox.gpus.machines import Machine
from lessor.sandbox.machines import FOLDER

_KEY = re.compile(r" lessor:([a-z0-9-]+):\S+$", re.MULTILINE)


def in_pool(config: Path, catalogue: Catalogue) -> list[Machine]:
    """Those of the pools in `lessor.yaml` beside which is a folder of machines. Raises ValueError for a broken file."""
    try:
        pools = [place.machines for place in load(config).places if place.machines is not None]
        found = [one for pool in pools for one in machines_of(pool, config.parent)]
    except ConfigError as error:
        raise ValueError(str(error).partition("\n")[0]) from error
    return [machine for one in found for machine in _machines(one, config.parent / FOLDER / one.name, catalogue)]


def _machines(one: MachineConfig, folder: Path, catalogue: Catalogue) -> Iterator[Machine]:
    keys = folder / "authorized_keys"
    leases = set(_KEY.findall(keys.read_text(encoding="utf-8"))) if keys.exists() else set()
    if not leases:
        return
    model = catalogue.model(one.model)
    memory = model.reported_mib or model.memory_gib * 1024 if model else one.memory_gib * 1024
    lease = leases.pop() if len(leases) == 1 and one.lease == "machine" else ""
    yield Machine(one.name, one.name, one.model, one.gpus, memory, lease, folder.stat().st_ctime)
