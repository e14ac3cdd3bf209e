"""A real Kubernetes for tests: etcd, API server, controllers and scheduler as processes, no machine and no container.

Built by `make kube-assets` or named by KUBEBUILDER_ASSETS; a cluster that runs already is named by TEST_KUBECONFIG.
What a kubelet would do for its pods, `tests.kube.nodes` does.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.leash import leashed

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
START_SECONDS = 90
STOP_SECONDS = 10
PATIENCE = 5
"""An API server whose storage has gone before it does not end by itself."""

CONTROLLERS = (
    *("namespace-controller", "garbage-collector-controller", "resourcequota-controller"),
    *("serviceaccount-controller", "root-ca-certificate-publisher-controller", "clusterrole-aggregation-controller"),
    *("deployment-controller", "replicaset-controller", "statefulset-controller", "job-controller"),
    *("cronjob-controller", "daemonset-controller", "persistentvolume-binder-controller"),
    *("persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"),
    *("resourceclaim-controller", "ttl-after-finished-controller"),
)
"""All that leases are made of; not the one that takes nodes without a kubelet out."""


class NoKubernetesError(Exception):
    """There is no Kubernetes to test with; the text says how to get one."""


@dataclass(frozen=True)
class KubeServer:
    """A running cluster. `kubeconfig` is that of its administrator, `home` a folder that ends with it."""

    kubeconfig: Path
    home: Path

    def kubeconfig_of(self, token: str, name: str) -> Path:
        """The way in for somebody else, by token."""
        found = yaml.safe_load(self.kubeconfig.read_text())
        context = next(one for one in found["contexts"] if one["name"] == found["current-context"])["context"]
        context["user"] = name
        for cluster in (one["cluster"] for one in found["clusters"]):
            if authority := cluster.get("certificate-authority"):
                cluster["certificate-authority"] = str(self.kubeconfig.parent / authority)
        found["users"] = [{"name": name, "user": {"token": token}}]
        path = self.home / f"{name}.kubeconfig"
        path.write_text(yaml.safe_dump(found))
        path.chmod(0o600)
        return path


@contextmanager
def kubernetes() -> Iterator[KubeServer]:
    """A cluster for as long as the block lasts. Raises `NoKubernetesError` when there is none."""
    home = Path(tempfile.mkdtemp(prefix="lessor-kube-"))
    try:
        if named := os.environ.get("TEST_KUBECONFIG"):
            yield KubeServer(Path(named), home)
            return
        with _started(_programs(), home) as server:
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _programs() -> Path:
    named = os.environ.get("KUBEBUILDER_ASSETS")
    if not named:
        raise NoKubernetesError(
            "no real Kubernetes: set KUBEBUILDER_ASSETS to what `make kube-assets` prints, or TEST_KUBECONFIG"
        )
    folder = Path(named)
    missing = [program for program in PROGRAMS if not os.access(folder / program, os.X_OK)]
    if missing:
        raise NoKubernetesError(f"KUBEBUILDER_ASSETS={named} lacks {', '.join(missing)}; `make kube-assets` builds all")
    return folder


@contextmanager
def _started(programs: Path, home: Path) -> Iterator[KubeServer]:
    etcd, peer, port = _free_ports(3)
    token = secrets.token_hex(16)
    server = KubeServer(home / "admin.kubeconfig", home)
    with _Processes(home) as running:
        running.start(*_etcd(programs, home, etcd, peer))
        running.start(*_api_server(programs, home, etcd, port, token))
        running.await_answer(port, token, "/readyz")
        _write_kubeconfig(server.kubeconfig, port, home / "certificates" / "apiserver.crt", token)
        running.start(*_controllers(programs, home, server.kubeconfig))
        running.start(*_scheduler(programs, server.kubeconfig))
        # The role that leases grant is made of others by a controller.
        running.await_answer(port, token, "/apis/rbac.authorization.k8s.io/v1/clusterroles/edit", b'"resources":')
        yield server


class _Processes:
    """Programs that end with the block, the last one first, or when this process dies."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> _Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._running):
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def start(self, program: Path, arguments: Sequence[str]) -> None:
        log = self._home / f"{program.name}.log"
        self._running.append(leashed([program, *arguments], self._home, log, "TERM", PATIENCE))

    def await_answer(self, port: int, token: str, path: str, wanted: bytes = b"") -> None:
        """Wait for a good answer of the API server that has `wanted` in it. Raises `RuntimeError` with its log."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        asked = urllib.request.Request(f"https://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {token}"})
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and all(process.poll() is None for process in self._running):
            try:
                with urllib.request.urlopen(asked, timeout=5, context=context) as answer:
                    if wanted in answer.read():
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.05)
        logs = "\n".join(f"{log.name}: {log.read_text()[-1500:]}" for log in sorted(self._home.glob("*.log")))
        raise RuntimeError(f"Kubernetes did not start:\n{logs}")


def _etcd(programs: Path, home: Path, port: int, peer: int) -> tuple[Path, list[str]]:
    here, beside = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    return programs / "etcd", [
        f"--data-dir={home / 'etcd'}",
        f"--listen-client-urls={here}",
        f"--advertise-client-urls={here}",
        f"--listen-peer-urls={beside}",
        f"--initial-advertise-peer-urls={beside}",
        f"--initial-cluster=default={beside}",
        "--unsafe-no-fsync",
        "--log-level=error",
    ]


def _api_server(programs: Path, home: Path, etcd: int, port: int, token: str) -> tuple[Path, list[str]]:
    key, known = home / "accounts.key", home / "tokens.csv"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    known.write_text(f"{token},administrator,administrator,system:masters\n")
    return programs / "kube-apiserver", [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={home / 'certificates'}",
        f"--token-auth-file={known}",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        "--shutdown-watch-termination-grace-period=0s",
    ]


def _controllers(programs: Path, home: Path, kubeconfig: Path) -> tuple[Path, list[str]]:
    return programs / "kube-controller-manager", [
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(CONTROLLERS)}",
        f"--service-account-private-key-file={home / 'accounts.key'}",
        f"--root-ca-file={home / 'certificates' / 'apiserver.crt'}",
        "--leader-elect=false",
        "--secure-port=0",
        "--pvclaimbinder-sync-period=1s",
    ]


def _scheduler(programs: Path, kubeconfig: Path) -> tuple[Path, list[str]]:
    return programs / "kube-scheduler", [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"]


def _write_kubeconfig(path: Path, port: int, authority: Path, token: str) -> None:
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(authority)}
    found = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "administrator", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "administrator"}}],
    }
    path.write_text(yaml.safe_dump(found))
    path.chmod(0o600)


def _free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()
