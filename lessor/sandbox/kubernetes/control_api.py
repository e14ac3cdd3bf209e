"""The page and its controls, on an address of its own: the API itself has none that a real one has not.

GET  /                                the page
GET  /_sim/state                      everything it shows
POST /_sim/troubles/{name}            {on}   see `troubles`
POST /_sim/settings                   fields of `Settings`
POST /_sim/faults                     fields of `Fault`;  POST /_sim/faults/clear
POST /_sim/nodes/{name}               {cordoned?, ready?}
POST /_sim/namespaces/{name}          {hold?, run?: GPUs of a new workload}
POST /_sim/pods/{namespace}/{name}    {ends?: exit code, delete?: true}
"""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from aiohttp import web

from lessor.sandbox.kubernetes.cluster import SimulatedCluster
from lessor.sandbox.kubernetes.controllers.kubelet import EXIT_CODE, RUNS_FOR
from lessor.sandbox.kubernetes.errors import Refused
from lessor.sandbox.kubernetes.faults import Fault
from lessor.sandbox.kubernetes.kinds import kind
from lessor.sandbox.kubernetes.picture import HOLD, picture
from lessor.sandbox.kubernetes.troubles import troubles
from lessor.sandbox.kubernetes.trying import workload

Obj = dict[str, Any]
Handler = Callable[[web.Request], Awaitable[web.Response]]
_FILES = {
    "/": ("kubernetes/page/index.html", "text/html"),
    "/page.css": ("look/page.css", "text/css"),
    "/dom.js": ("look/dom.js", "text/javascript"),
    "/cluster.css": ("kubernetes/page/cluster.css", "text/css"),
    "/page.js": ("kubernetes/page/page.js", "text/javascript"),
}


def make_page(cluster: SimulatedCluster) -> web.Application:
    """The aiohttp application of the page."""
    application = web.Application()
    controls = _Controls(cluster)
    routes: dict[str, Callable[[web.Request, Obj], None]] = {
        "/_sim/troubles/{name}": controls.trouble,
        "/_sim/settings": controls.settings,
        "/_sim/faults": controls.fault,
        "/_sim/faults/clear": controls.heal,
        "/_sim/nodes/{name}": controls.node,
        "/_sim/namespaces/{name}": controls.namespace,
        "/_sim/pods/{namespace}/{name}": controls.pod,
    }

    async def state(_: web.Request) -> web.Response:
        return web.json_response(picture(cluster))

    application.router.add_get("/_sim/state", state)
    for path, act in routes.items():
        application.router.add_post(path, _acting(cluster, act))
    for path, (name, content_type) in _FILES.items():
        application.router.add_get(path, _file(name, content_type))
    return application


class _Controls:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def trouble(self, request: web.Request, body: Obj) -> None:
        known = troubles()
        name = request.match_info["name"]
        if name not in known:
            raise KeyError(f"there is no trouble {name}; there are: {', '.join(known)}")
        known[name].switch(self._cluster, bool(body.get("on", True)))

    def settings(self, _: web.Request, body: Obj) -> None:
        self._cluster.settings.change(**body)

    def fault(self, _: web.Request, body: Obj) -> None:
        self._cluster.faults.add(Fault(**body))

    def heal(self, _: web.Request, body: Obj) -> None:
        self._cluster.faults.clear()

    def node(self, request: web.Request, body: Obj) -> None:
        name = request.match_info["name"]
        if "cordoned" in body:
            change = {"spec": {"unschedulable": True if body["cordoned"] else None}}
            self._cluster.registry.patch(kind("Node"), "", name, change)
        if "ready" in body:
            found = self._cluster.registry.get(kind("Node"), "", name)
            self._cluster.registry.change(
                kind("Node"), found, _ready(bool(body["ready"])), manager="kubelet", sub="status"
            )

    def namespace(self, request: web.Request, body: Obj) -> None:
        name = request.match_info["name"]
        if "hold" in body:
            self._hold(name, bool(body["hold"]))
        if "run" in body:
            self._cluster.make("Deployment", workload(self._cluster, name, int(body["run"])), name)

    def pod(self, request: web.Request, body: Obj) -> None:
        where = request.match_info["namespace"], request.match_info["name"]
        if "ends" in body:
            told = {RUNS_FOR: "0", EXIT_CODE: str(int(body["ends"]))}
            self._cluster.registry.patch(kind("Pod"), *where, {"metadata": {"annotations": told}})
        if body.get("delete"):
            self._cluster.registry.delete(kind("Pod"), *where)

    def _hold(self, namespace: str, on: bool) -> None:
        name, maps = HOLD.partition("/")[2], kind("ConfigMap")
        held = self._cluster.store.get(maps, namespace, name)
        if on and held is None:
            self._cluster.make("ConfigMap", {"metadata": {"name": name, "finalizers": [HOLD]}}, namespace)
        elif not on and held is not None:
            self._cluster.registry.patch(maps, namespace, name, {"metadata": {"finalizers": None}})
            if self._cluster.store.get(maps, namespace, name):
                self._cluster.registry.delete(maps, namespace, name)


def _ready(ready: bool) -> Callable[[Obj], None]:
    def change(node: Obj) -> None:
        status = copy.deepcopy(node["status"])
        for one in status["conditions"]:
            if one["type"] == "Ready":
                one |= {
                    "status": "True" if ready else "Unknown",
                    "reason": "KubeletReady" if ready else "NodeStatusUnknown",
                }
        node["status"] = status

    return change


def _acting(cluster: SimulatedCluster, act: Callable[[web.Request, Obj], None]) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        try:
            body = json.loads(await request.text() or "{}")
            with cluster.lock:
                act(request, body)
                cluster.step()
                cluster.on_change()
        except KeyError as unknown:
            return web.json_response({"error": unknown.args[0]}, status=404)
        except Refused as refused:
            return web.json_response({"error": refused.message}, status=refused.code)
        except (TypeError, ValueError) as wrong:
            return web.json_response({"error": str(wrong)}, status=400)
        return web.json_response(picture(cluster))

    return handler


def _file(name: str, content_type: str) -> Handler:
    async def send(_: web.Request) -> web.Response:
        text = files("lessor.sandbox").joinpath(name).read_text(encoding="utf-8")
        return web.Response(text=text, content_type=content_type)

    return send
