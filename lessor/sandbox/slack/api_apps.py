"""apps.connections.open"""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack.api import Args, Method
from lessor.sandbox.slack.core import Core

Json = dict[str, Any]


async def connections_open(core: Core, args: Args) -> Json:
    base = core.base_url.replace("http", "ws", 1)
    return {"url": f"{base}/link/?ticket={core.sockets.ticket()}&app_id={core.workspace.app.id}"}


METHODS: dict[str, Method] = {"apps.connections.open": connections_open}
