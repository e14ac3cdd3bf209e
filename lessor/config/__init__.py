"""Configuration of an organisation: `load` reads `lessor.yaml`, or says with file, line and key what is wrong."""

from lessor.config.configuration import Config
from lessor.config.loading import load, load_bytes, load_named, loads
from lessor.config.model import PlaceConfig
from lessor.config.prices import DiskPriceConfig, PriceConfig
from lessor.config.problems import ConfigError, Problem

__all__ = [
    "Config",
    "ConfigError",
    "DiskPriceConfig",
    "PlaceConfig",
    "PriceConfig",
    "Problem",
    "load",
    "load_bytes",
    "load_named",
    "loads",
]
