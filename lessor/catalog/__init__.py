"""What GPUs exist, on which instance types, and what they cost: facts with dates, read from files of this package."""

from __future__ import annotations

from lessor.catalog.catalogue import Catalogue, GpuModel, GpuType, load_catalogue

__all__ = ["Catalogue", "GpuModel", "GpuType", "load_catalogue"]
