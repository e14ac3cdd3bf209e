"""Ways into a pod of the simulated cluster, for tests of what is behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import yaml
from kubernetes import client, config

from lessor.sandbox.kubernetes import RunningCluster

POD = "/api/v1/namespaces/work/pods/train"


@asynccontextmanager
async def entered(lab: RunningCluster, sub: str, protocol: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A WebSocket to a part of the pod, as an administrator."""
    headers = {"authorization": f"Bearer {lab.cluster.accounts.admin()}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.ws_connect(f"{lab.base_url}{POD}/{sub}", protocols=(protocol,)) as socket,
    ):
        assert socket.protocol == protocol
        yield socket


def official(lab: RunningCluster) -> client.ApiClient:
    made: client.ApiClient = config.new_client_from_config_dict(
        yaml.safe_load(lab.admin_kubeconfig), persist_config=False
    )
    return made
