"""How a cluster is reached, with credentials that are renewed before they end: a worker lives longer than any token.

The vendor's client runs the program that hands them out without a limit of time, and calls as a stranger when it fails.
Here they are fetched within a limit, again before they end, and whenever the cluster does not know us (case D14).
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lessor.ports import RetryableError
from lessor.providers.kubernetes.errors import NEXT
from lessor.providers.kubernetes.place import KubernetesPlace

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, Configuration

PROGRAM_LIMIT = timedelta(seconds=30)
"""How long the program that hands out credentials may take."""

FILE_READ = timedelta(minutes=1)
"""How often credentials that lie in files are read again; whoever renews them replaces the file."""

EARLY = timedelta(minutes=1)
"""How long before their end credentials are renewed."""

OUR_OWN = ("SLACK_", "LESSOR_", "TEMPORAL_")
"""What the names of our own secrets in the environment begin with, which such a program has no use for."""

CONNECTIONS = 64
"""How many stay open to one cluster; a worker has no more threads."""

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class Session:
    """A connection pool with the credentials in force. `number` tells one renewal from the next."""

    client: ApiClient
    number: int
    until: datetime | None

    @property
    def headers(self) -> dict[str, str]:
        held = self.client.configuration.get_api_key_with_prefix("BearerToken")
        # Files end with a newline more often than not.
        return {"Authorization": held.strip()} if held else {}


class Sessions:
    """The way into one cluster. `kubeconfig` are paths as `KUBECONFIG` has them; may be shared between threads."""

    def __init__(self, place: KubernetesPlace, clock: Callable[[], datetime], kubeconfig: str = "") -> None:
        self._place, self._clock, self._kubeconfig = place, clock, kubeconfig
        self._lock = threading.Lock()
        self._held: Session | None = None

    def current(self) -> Session:
        """With credentials that still hold. Raises `RetryableError` when there are none to be had."""
        with self._lock:
            held, now = self._held, self._clock()
            if held is not None and (held.until is None or now < held.until):
                return held
            try:
                held = self._held = self._opened(held)
            except RetryableError:
                # What is renewed early still holds for that long.
                if held is None or held.until is None or now >= held.until + EARLY:
                    raise
            return held

    def renewed(self, refused: Session) -> Session:
        """After the cluster did not know `refused`: what another thread has renewed meanwhile, else new ones."""
        with self._lock:
            if self._held is None or self._held.number == refused.number:
                self._held = self._opened(self._held)
            return self._held

    def _opened(self, before: Session | None) -> Session:
        from kubernetes.client import ApiClient
        from kubernetes.config import ConfigException
        from yaml import YAMLError

        try:
            configuration, until = self._in_cluster() if self._place.in_cluster else self._by_kubeconfig()
        except (ConfigException, YAMLError, OSError, ValueError, subprocess.SubprocessError) as error:
            raise RetryableError(
                f"cluster {self._place.name} cannot be reached: {_safe(error)}; what is there is unknown. {NEXT}",
                "no-credentials",
            ) from (None if isinstance(error, subprocess.SubprocessError) else error)
        number = before.number + 1 if before else 1
        if before is not None and _same_way(before.client.configuration, configuration):
            before.client.configuration.api_key = configuration.api_key
            return Session(before.client, number, until)
        return Session(ApiClient(configuration), number, until)

    def _in_cluster(self) -> tuple[Configuration, datetime]:
        from kubernetes.config.incluster_config import InClusterConfigLoader

        configuration = _plain()
        InClusterConfigLoader(
            token_filename=str(ACCOUNT / "token"), cert_filename=str(ACCOUNT / "ca.crt"), try_refresh_token=False
        ).load_and_set(configuration)
        return configuration, self._clock() + FILE_READ

    def _by_kubeconfig(self) -> tuple[Configuration, datetime | None]:
        from kubernetes.config import ConfigException
        from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

        paths = self._kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
        merged = KubeConfigMerger(paths).config
        if merged is None:
            raise ConfigException(f"there is no kubeconfig at {paths}")
        until = self._with_credentials(merged)
        configuration = _plain()
        loader = KubeConfigLoader(merged, active_context=self._place.context or None, config_base_path=None)
        loader.load_and_set(configuration)
        configuration.refresh_api_key_hook = None
        return configuration, until

    def _with_credentials(self, merged: Any) -> datetime | None:
        """Put what the user's program answers in the place of the program; the instant to renew at, if there is one."""
        context = merged["contexts"].get_with_name(self._place.context or merged["current-context"])["context"]
        entry = merged["users"].get_with_name(context["user"], safe=True) if context.safe_get("user") else None
        if entry is None or not (user := entry.value.get("user")):
            return None
        if "exec" not in user:
            files = {"tokenFile", "client-certificate", "auth-provider"}
            return self._clock() + FILE_READ if files & set(user) else None
        folder = Path(entry.path).resolve().parent if entry.path else None
        cluster = merged["clusters"].get_with_name(context["cluster"])["cluster"].value
        status = _credentials(user["exec"], folder, cluster)
        entry.value["user"] = _in_words_of_kubeconfig(status)
        ends = status.get("expirationTimestamp")
        return datetime.fromisoformat(ends).astimezone(UTC) - EARLY if ends else None


def _plain() -> Configuration:
    """No tries that nobody sees: whether something is tried again is for the caller to say."""
    from kubernetes.client import Configuration

    configuration = Configuration(connection_pool_maxsize=CONNECTIONS)
    configuration.retries = False
    return configuration


def _credentials(program: Mapping[str, Any], folder: Path | None, cluster: Mapping[str, Any]) -> dict[str, Any]:
    """What the program of a kubeconfig's `exec` answers. Raises ValueError with the reason, never with its output."""
    version = program.get("apiVersion")
    told = {"cluster": dict(cluster)} if program.get("provideClusterInfo") else {}
    asked = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False, **told}}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OUR_OWN)}
    environment |= {item["name"]: item["value"] for item in program.get("env") or ()}
    done = subprocess.run(  # noqa: S603 - the operator's own kubeconfig names it, as it does for kubectl
        [str(program["command"]), *(str(argument) for argument in program.get("args") or ())],
        env={**environment, "KUBERNETES_EXEC_INFO": json.dumps(asked)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=PROGRAM_LIMIT.total_seconds(),
    )
    if done.returncode != 0:
        raise ValueError(f"{program['command']} ended with {done.returncode} instead of credentials")
    try:
        answer = json.loads(done.stdout)
        status = dict(answer["status"])
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{program['command']} printed no credentials") from None
    if answer.get("apiVersion") != version or not ({"token", "clientCertificateData"} & set(status)):
        raise ValueError(f"{program['command']} printed no credentials of {version}")
    return status


def _in_words_of_kubeconfig(status: Mapping[str, Any]) -> dict[str, Any]:
    from base64 import b64encode

    found: dict[str, Any] = {}
    if token := status.get("token"):
        found["token"] = token
    for given, word in (("clientCertificateData", "client-certificate-data"), ("clientKeyData", "client-key-data")):
        if text := status.get(given):
            found[word] = b64encode(str(text).encode()).decode()
    return found


def _same_way(one: Configuration, other: Configuration) -> bool:
    """Whether the open connections can be used on: only the token is new."""
    names = ("host", "ssl_ca_cert", "cert_file", "key_file", "verify_ssl", "tls_server_name", "proxy")
    return all(getattr(one, name, None) == getattr(other, name, None) for name in names)


def _safe(error: Exception) -> str:
    """The reason without what a program was told or printed, either of which may be a secret."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"{error.cmd[0]} took longer than {PROGRAM_LIMIT.total_seconds():.0f} s to hand out credentials"
    return str(error)[:300]
