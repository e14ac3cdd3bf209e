"""What exists in the cluster survives a restart of the sandbox, together with the leases that it belongs to."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lessor.sandbox.kubernetes.cluster import SimulatedCluster


class StateFile:
    """Where the simulated cluster is kept between runs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, cluster: SimulatedCluster) -> None:
        """Write everything that exists, all or nothing."""
        content = json.dumps(cluster.to_json())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.touch(mode=0o600)
        part.write_text(content, encoding="utf-8")
        os.replace(part, self.path)

    def load(self, cluster: SimulatedCluster) -> bool:
        """Bring back what was saved; whether there was anything. An unreadable file is set aside."""
        if not self.path.exists():
            return False
        try:
            cluster.resume(json.loads(self.path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError):
            os.replace(self.path, self.path.with_suffix(".unreadable"))
            return False
        return True
