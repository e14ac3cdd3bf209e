"""The documents of this package."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where PyYAML was built with it: each program reads these when it starts, eight times as long in Python."""


@lru_cache
def shipped(name: str) -> Any:
    """One of them as it stands, such as `cluster.yaml`; read once, since nothing changes it. Not to be written to."""
    return yaml.load(files(__package__).joinpath(name).read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - either is a safe one
