"""The HTTP face: the query API of a Prometheus, exporters' pages for another one, and the page with its controls.

GET|POST /api/v1/query      as Prometheus answers it;  GET /-/ready
GET  /metrics               ?machine= &job=   what exporters say, of all machines or of one
GET  /sd                    where they are, for `http_sd_configs`
GET  /_sim/state            machines, switches, latest queries
POST /_sim/machines         {use?, working?, mig?, exporter?, gap?, restart?, ahead?, labelled?}   every machine
POST /_sim/machines/{id}    the same of one
POST /_sim/switches         {answers?, newcomers?}
GET  /                      the page
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib.resources import files
from pathlib import Path

from aiohttp import web

from lessor.catalog import Catalogue
from lessor.sandbox.aws.client import SimulatorClient
from lessor.sandbox.gpus.exposition import page, targets
from lessor.sandbox.gpus.machines import Machine, running
from lessor.sandbox.gpus.pods import in_cluster
from lessor.sandbox.gpus.pool import in_pool
from lessor.sandbox.gpus.prometheus import Api
from lessor.sandbox.gpus.simulation import Simulation
from lessor.sandbox.kubernetes.client import ClusterClient

Handler = Callable[[web.Request], Awaitable[web.Response]]

_FILES = {
    "/": ("gpus/page/index.html", "text/html"),
    "/page.css": ("look/page.css", "text/css"),
    "/dom.js": ("look/dom.js", "text/javascript"),
    "/gpus.css": ("gpus/page/gpus.css", "text/css"),
    "/page.js": ("gpus/page/page.js", "text/javascript"),
}
_EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


def make_application(simulation: Simulation) -> web.Application:
    """The aiohttp application over a simulation; `keep_seeing` and `keep_sampling` make its time go by."""
    application = web.Application()
    api = Api(simulation)

    async def ready(_: web.Request) -> web.Response:
        return web.Response(text="Prometheus Server is Ready.\n")

    async def metrics(request: web.Request) -> web.Response:
        machine = request.query.get("machine", "")
        text = page(simulation, machine, request.query.get("job", ""))
        # An exporter that is gone does not answer; one of a machine that does not run neither.
        return web.Response(
            body=text, status=200 if text or not machine else 503, headers={"content-type": _EXPOSITION}
        )

    async def discovered(request: web.Request) -> web.Response:
        return web.json_response(targets(simulation, request.host))

    application.router.add_get("/api/v1/query", api.query)
    application.router.add_post("/api/v1/query", api.query)
    application.router.add_get("/-/ready", ready)
    application.router.add_get("/metrics", metrics)
    application.router.add_get("/sd", discovered)
    _add_controls(application, simulation)
    for path, (name, kind) in _FILES.items():
        application.router.add_get(path, _file(name, kind))
    return application


async def keep_sampling(simulation: Simulation, every: float) -> None:
    """Sample what runs, for ever."""
    while True:
        simulation.sample()
        await asyncio.sleep(every)


Look = Callable[[], list[Machine]]


async def keep_seeing(simulation: Simulation, sources: Mapping[str, Look], every: float) -> None:
    """See what runs in each source, for ever; when one does not answer, what was seen last of it runs on."""
    seen: dict[str, list[Machine]] = {name: [] for name in sources}
    while True:
        silent = []
        for name, look in sources.items():
            try:
                seen[name] = await asyncio.to_thread(look)
            except (OSError, ValueError) as reason:
                silent.append(f"{name} does not answer ({reason}): what runs there is shown as it was.")
        simulation.see([machine for machines in seen.values() for machine in machines])
        simulation.unseen = " ".join(silent)
        await asyncio.sleep(every)


def sources(
    aws: SimulatorClient, cluster: ClusterClient | None, catalogue: Catalogue, pools: Path | None = None
) -> dict[str, Look]:
    """Where there are GPUs: the AWS simulator, the simulated cluster, and pools of a `lessor.yaml`."""
    found: dict[str, Look] = {"The AWS simulator": lambda: running(aws.state()["instances"], catalogue)}
    if cluster is not None:
        found["The simulated cluster"] = lambda: in_cluster(cluster.state(), catalogue)
    if pools is not None:
        found["The pool of machines"] = lambda: in_pool(pools, catalogue)
    return found


@contextlib.asynccontextmanager
async def listening(simulation: Simulation, port: int = 0, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Serve on a free (or the given) port for as long as the block runs; gives the address."""
    runner = web.AppRunner(make_application(simulation), access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield f"http://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _add_controls(application: web.Application, simulation: Simulation) -> None:
    async def state(_: web.Request) -> web.Response:
        return web.json_response(simulation.state())

    async def change(request: web.Request) -> web.Response:
        wanted = request.match_info.get("id", "")
        body = await request.json()
        for machine in [wanted] if wanted else list(simulation.machines):
            simulation.change(machine, dict(body))
        return web.json_response(simulation.state())

    async def switch(request: web.Request) -> web.Response:
        simulation.switch(**await request.json())
        return web.json_response(simulation.state())

    application.router.add_get("/_sim/state", state)
    application.router.add_post("/_sim/machines", _worded(change))
    application.router.add_post("/_sim/machines/{id}", _worded(change))
    application.router.add_post("/_sim/switches", _worded(switch))


def _worded(handler: Handler) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        try:
            return await handler(request)
        except KeyError as unknown:
            return web.json_response({"error": unknown.args[0]}, status=404)
        except (TypeError, ValueError) as wrong:
            return web.json_response({"error": str(wrong)}, status=400)

    return answer


def _file(name: str, kind: str) -> Handler:
    async def send(_: web.Request) -> web.Response:
        return web.Response(text=files("lessor.sandbox").joinpath(name).read_text(encoding="utf-8"), content_type=kind)

    return send
