"""The real cluster of a test run: one for a process, started when the first test needs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from kubernetes import client, config

from tests.kube.ground import RealGround, installed
from tests.kube.nodes import kubelets
from tests.kube.servers import NoKubernetesError, kubernetes


@pytest.fixture(scope="session")
def running_kube() -> Iterator[RealGround]:
    """A cluster with lessor in it. Without one the tests are skipped, and fail in CI."""
    try:
        with kubernetes() as server:
            access = config.new_client_from_config(str(server.kubeconfig), persist_config=False)
            core = client.CoreV1Api(access)
            with access, kubelets(core, client.StorageV1Api(access)):
                ground = installed(server, core, lambda: datetime.now(UTC))
                yield ground
                ground.await_empty()
                ground.nodes.remove()
    except NoKubernetesError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture
def busy_ground(running_kube: RealGround) -> Iterator[RealGround]:
    """The same cluster with its clock right again, in which what another test made may still be going."""
    ground = replace(running_kube, faults=[], ahead=timedelta())
    yield ground
    ground.give_up()


@pytest.fixture
def real_ground(busy_ground: RealGround) -> RealGround:
    """The same cluster without anything that another test left, and with its clock right again."""
    busy_ground.await_empty()
    return busy_ground
