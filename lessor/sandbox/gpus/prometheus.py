"""The HTTP query API of a Prometheus, with its answers and its refusals."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import formatdate
from typing import Any

from aiohttp import web

from lessor.sandbox.gpus.doing import Answers
from lessor.sandbox.gpus.promql import QueryError, Sample, evaluate, parse
from lessor.sandbox.gpus.promql.tree import Node
from lessor.sandbox.gpus.simulation import Asked, Simulation

Json = dict[str, Any]

SLOW_SECONDS = 30.0
_STATUS = {"bad_data": 400, "execution": 422}


class Api:
    """Answers `/api/v1/query`; what is asked is kept for the page."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    async def query(self, request: web.Request) -> web.Response:
        """One expression at one instant, by GET or by a form."""
        form: Mapping[str, Any] = await request.post() if request.method == "POST" else {}
        given = {**request.query, **{name: str(value) for name, value in form.items()}}
        began = time.monotonic()
        answer = await self._answer(given)
        outcome = _outcome(answer) if isinstance(answer, dict) else str(answer.status)
        taken = time.monotonic() - began
        self._simulation.asked.append(Asked(self._simulation.clock(), given.get("query", ""), taken, outcome))
        if isinstance(answer, dict):
            answer = web.json_response(answer, status=_STATUS.get(answer.get("errorType", ""), 200))
        # Who asks compares clocks by this header, and all times here are those of the simulation's.
        answer.headers["date"] = formatdate(self._simulation.clock(), usegmt=True)
        return answer

    async def _answer(self, given: Mapping[str, str]) -> Json | web.Response:
        answers = self._simulation.answers
        if answers is Answers.DOWN:
            return web.Response(status=503, text="Service Unavailable")
        if answers is Answers.SLOW:
            await asyncio.sleep(SLOW_SECONDS)
        try:
            now = _instant(given.get("time", ""), self._simulation.clock())
            node = _parsed(given.get("query", ""))
            found = evaluate(node, self._simulation.database, now)
        except QueryError as refused:
            return {"status": "error", "errorType": refused.kind, "error": str(refused)}
        if isinstance(found, float):
            return _success("scalar", [now / 1000, _said(found)])
        shown = [] if answers is Answers.EMPTY else [_series(one, now) for one in found]
        return _success("vector", shown)


def _parsed(query: str) -> Node:
    try:
        return parse(query)
    except QueryError as refused:
        raise QueryError(f'invalid parameter "query": {refused}', refused.kind) from refused


def _instant(text: str, now: float) -> int:
    """In milliseconds; given in seconds or by RFC 3339, now if it is left out."""
    if not text:
        return round(now * 1000)
    try:
        return round(float(text) * 1000)
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text)
    except ValueError as wrong:
        raise QueryError(f'invalid parameter "time": cannot parse "{text}" to a valid timestamp') from wrong
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def _success(kind: str, result: Any) -> Json:
    return {"status": "success", "data": {"resultType": kind, "result": result}}


def _series(one: Sample, now: int) -> Json:
    return {"metric": one.labels, "value": [now / 1000, _said(one.value)]}


def _said(value: float) -> str:
    """A number as Prometheus writes it: shortest, and never with an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return format(Decimal(repr(value)), "f").removesuffix(".0")


def _outcome(answer: Json) -> str:
    if answer["status"] == "error":
        return str(answer["errorType"])
    result = answer["data"]["result"]
    return f"{len(result)} series" if answer["data"]["resultType"] == "vector" else "a number"
