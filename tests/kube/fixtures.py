"""The real cluster of a test run: one for a process, from the first test that needs it to the last.

Left to the end of the process it would take an eighth of two processors from all other tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from kubernetes import client, config

from tests.kube.ground import RealGround, installed
from tests.kube.nodes import kubelets
from tests.kube.servers import NoKubernetesError, kubernetes


@contextmanager
def _running() -> Iterator[RealGround]:
    with kubernetes() as server:
        access = config.new_client_from_config(str(server.kubeconfig), persist_config=False)
        core = client.CoreV1Api(access)
        with access, kubelets(core, client.StorageV1Api(access)):
            ground = installed(server, core, lambda: datetime.now(UTC))
            yield ground
            ground.await_empty()
            ground.nodes.remove()


class KubeHolder:
    """Starts a cluster when it is asked for one and has none; one that did not start is not tried again."""

    def __init__(self, start: Callable[[], AbstractContextManager[RealGround]] = _running) -> None:
        self._start = start
        self._held = ExitStack()
        self._ground: RealGround | None = None
        self._problem: Exception | None = None

    def ground(self) -> RealGround:
        """A cluster with lessor in it. Without one the test is skipped, and fails in CI."""
        if self._problem is not None:
            raise self._problem
        if self._ground is None:
            try:
                self._ground = self._held.enter_context(self._start())
            except NoKubernetesError as error:
                if os.environ.get("CI") == "true":
                    raise
                pytest.skip(str(error))
            except Exception as error:
                self._problem = error
                raise
        return self._ground

    def close(self) -> None:
        self._ground = None
        self._held.close()


_holder = KubeHolder()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    if "kube_holder" not in getattr(nextitem, "fixturenames", ()):
        _holder.close()


@pytest.fixture(scope="session")
def kube_holder() -> Iterator[KubeHolder]:
    """For fixtures that outlive a test; what it gives lasts while the next test needs it as well."""
    yield _holder
    _holder.close()


@pytest.fixture
def running_kube(kube_holder: KubeHolder) -> RealGround:
    """A cluster with lessor in it."""
    return kube_holder.ground()


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
