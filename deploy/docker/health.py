"""Health of a container: exit code 0 while its program does its work, 1 with one line of reason when it does not.

health.py worker    the Temporal server sees a poller of this container on the task queue `lessor`
health.py bot       Slack is connected: a connection to port 443 is open, or the HTTP port listens
health.py guard     it has looked at all places lately, as its notebook says
health.py dashboard it answers, and can read the ledger
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

FRESH = timedelta(minutes=2)
LONGEST_LOOK = timedelta(minutes=15)
ESTABLISHED = "01"
HTTP_PORT = 3000
DASHBOARD = "http://127.0.0.1:7417/healthz"


async def worker_problem() -> str:
    """Empty when this host polls; the address and namespace come from TEMPORAL_* as for the worker itself."""
    from temporalio.api.enums.v1 import TaskQueueType
    from temporalio.api.taskqueue.v1 import TaskQueue
    from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
    from temporalio.client import Client
    from temporalio.envconfig import ClientConfig

    from lessor.contracts import TASK_QUEUE

    client = await Client.connect(**ClientConfig.load_client_connect_config())
    asked = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=TASK_QUEUE),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    answer = await client.workflow_service.describe_task_queue(asked, timeout=timedelta(seconds=5))
    oldest = datetime.now(UTC) - FRESH
    here = f"@{socket.gethostname()}"
    for poller in answer.pollers:
        if poller.identity.endswith(here) and poller.last_access_time.ToDatetime(UTC) >= oldest:
            return ""
    return f"no poller of {here} on task queue {TASK_QUEUE} within {FRESH}; {len(answer.pollers)} others poll"


def bot_problem(tables: tuple[Path, ...] = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))) -> str:
    """Empty when a connection to port 443 is open (Socket Mode) or the HTTP port answers (HTTP mode)."""
    for table in tables:
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _number, _local, remote, state = line.split()[:4]
            if state == ESTABLISHED and int(remote.rsplit(":", 1)[1], 16) == 443:
                return ""
    try:
        socket.create_connection(("127.0.0.1", HTTP_PORT), timeout=2).close()
    except OSError:
        return f"no open connection to Slack, and nothing listens on port {HTTP_PORT}"
    return ""


def dashboard_problem(address: str = DASHBOARD) -> str:
    """Empty when the dashboard says that it works; it says itself what is wrong."""
    asking = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        asking.open(address, timeout=5).close()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.read(500).decode("utf-8", "replace")
    return ""


def guard_problem(now: datetime | None = None) -> str:
    """Empty when the guard has looked within three of its pauses and the time that a look may take."""
    from lessor.config import load
    from lessor.guarding.opening import notebook_of
    from lessor.settings import read_settings

    settings = read_settings()
    late = 3 * load(settings.lessor_config).guard.every + LONGEST_LOOK
    page = json.loads(notebook_of(settings).read_bytes())
    looked = datetime.fromisoformat(page["looked_at"])
    return "" if (now or datetime.now(UTC)) - looked <= late else f"the guard has not looked since {looked}"


async def problem_of(program: str) -> str:
    """What is wrong with a program, by its name."""
    if program == "worker":
        return await worker_problem()
    others = {"dashboard": dashboard_problem, "guard": guard_problem, "bot": bot_problem}
    return others[program]()


def main(arguments: list[str]) -> int:
    try:
        problem = asyncio.run(problem_of("".join(arguments)))
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    if problem:
        sys.stderr.write(f"unhealthy: {problem}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    from lessor.leaving import leave

    leave(main(sys.argv[1:]))
