"""The HTTP face of the cluster: the API on every path, watches as streams, and the controllers' time going by."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from lessor.sandbox.kubernetes.answering import Answer, Watching, answer
from lessor.sandbox.kubernetes.calls import Call
from lessor.sandbox.kubernetes.cluster import SimulatedCluster
from lessor.sandbox.kubernetes.inside.channels import opened
from lessor.sandbox.kubernetes.inside.entering import Following
from lessor.sandbox.kubernetes.tables import tabled

_LARGEST_BODY = 3 * 1024 * 1024
_BEAT, _REST = 0.02, 0.1
"""Seconds between two steps of the controllers, while something happens and while nothing does."""


def make_application(cluster: SimulatedCluster) -> web.Application:
    """The aiohttp application; `keep_stepping` makes the controllers work."""
    application = web.Application(client_max_size=_LARGEST_BODY)

    async def api(request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        several = {name: tuple(request.query.getall(name)) for name in request.query}
        body = await request.read()
        call = Call(request.method, request.path, dict(request.query), headers, body, several)
        given = answer(cluster, call)
        if given.delay:
            await asyncio.sleep(given.delay)
        if given.lost:
            return _broken(request)
        if given.watching:
            return await _stream(cluster, request, given.watching)
        if given.following:
            return await _follow(cluster, request, given.following)
        if given.entering:
            return await opened(request, given.entering)
        return _written(given)

    application.router.add_route("*", "/{path:.*}", api)
    return application


async def keep_stepping(cluster: SimulatedCluster) -> None:
    """Let the controllers work, for ever."""
    while True:
        busy = cluster.step()
        await asyncio.sleep(_BEAT if busy else _REST)


@contextlib.asynccontextmanager
async def listening(
    application: web.Application, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """Serve on a free (or the given) port for as long as the block runs; gives the address."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=tls).start()
        yield f"{'https' if tls else 'http'}://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _written(given: Answer) -> web.Response:
    if given.text is not None:
        return web.Response(text=given.text, status=given.code)
    headers = {"audit-id": "sandbox", "cache-control": "no-cache, private"}
    wait = (given.body.get("details") or {}).get("retryAfterSeconds")
    if wait:
        headers["retry-after"] = str(wait)
    return web.json_response(given.body, status=given.code, headers=headers)


def _broken(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


async def _stream(cluster: SimulatedCluster, request: web.Request, wanted: Watching) -> web.StreamResponse:
    """One JSON object a line for each change; an ERROR with code 410 when the version is too old to go on from."""
    response = web.StreamResponse(headers={"content-type": "application/json"})
    await response.prepare(request)
    loop = asyncio.get_running_loop()
    end, at, headed = loop.time() + wanted.seconds, wanted.since, False
    while loop.time() < end:
        with cluster.lock:
            if at < cluster.store.forgotten:
                await response.write(_line("ERROR", _gone(at, cluster.store.forgotten)))
                break
            changes = list(cluster.store.since(at, wanted.kind))
        for one in changes:
            at = one.version
            if wanted.namespace in ("", one.obj["metadata"].get("namespace", "")) and wanted.wanted(one.obj):
                told = one.obj
                if wanted.carry:
                    version = {"resourceVersion": str(one.version)}
                    told = tabled(wanted.kind, [told], version, cluster.clock.now(), wanted.carry, headed=not headed)
                    headed = True
                await response.write(_line(one.type, told))
        await asyncio.sleep(_BEAT)
    return response


async def _follow(cluster: SimulatedCluster, request: web.Request, log: Following) -> web.StreamResponse:
    """A log as it grows, until its container ends."""
    response = web.StreamResponse(headers={"content-type": "text/plain"})
    await response.prepare(request)
    await response.write(log.text.encode())
    known, lasts = log.known, True
    while lasts:
        await asyncio.sleep(_REST)
        with cluster.lock:
            lasts, found = log.lasts(), log.lines()
        for at, line in found[known:]:
            await response.write(f"{f'{at} ' if log.stamped else ''}{line}\n".encode())
        known = max(known, len(found))
    return response


def _line(type_: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": type_, "object": obj}).encode() + b"\n"


def _gone(asked: int, known: int) -> dict[str, Any]:
    text = f"too old resource version: {asked} ({known})"
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return status | {"message": text, "reason": "Expired", "code": 410}
