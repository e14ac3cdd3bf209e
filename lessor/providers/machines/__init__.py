"""Pools of the organisation's own machines."""

from lessor.providers.machines.hooks import Who
from lessor.providers.machines.pool import Commands, InventoryError, Pool
from lessor.providers.machines.provider import MachinesProvider

__all__ = ["Commands", "InventoryError", "MachinesProvider", "Pool", "Who"]
