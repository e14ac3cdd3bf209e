"""Switches, faults and logs of the sandbox, as JSON over HTTP under `/sandbox/api`.

GET    /faults            what is set
POST   /faults            {kind, on?, times?, ...} as in `faults`
DELETE /faults            all;  /faults/{id} one
GET    /switches          all switches and the number of connections
POST   /switches          {rate_limits?, trigger_refusal_shape?, interaction_team_id?, enterprise_ids?,
                           file_seconds?, event_retry_seconds?: [0, 60, 300]}
POST   /disconnect        {how: refresh | drop}
POST   /http-target       {url}  ("" for Socket Mode)
POST   /change-person     {who, deleted?, ...}
POST   /change-channel    {channel, is_archived?, app_in?, members?, ...}
POST   /change-usergroup  {usergroup, members?, disabled?: when, ...}
GET    /calls             ?method=  Web API calls
GET    /deliveries        ?kind=  attempts to reach the app
"""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.routing import Route

from lessor.sandbox.slack.accounts import Accounts
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.delivery import EVENT
from lessor.sandbox.slack.errors import PersonError
from lessor.sandbox.slack.http_mode import HttpTarget
from lessor.sandbox.slack.people_routes import answering, body_of

Json = dict[str, Any]

_SWITCHES: Final = ("trigger_refusal_shape", "interaction_team_id", "enterprise_ids", "file_seconds")


class FaultRoutes:
    """Endpoints over one core."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._accounts = Accounts(core)

    def routes(self) -> list[Route]:
        table = [
            ("/faults", "GET", self._faults),
            ("/faults", "POST", self._add_fault),
            ("/faults", "DELETE", self._clear_faults),
            ("/faults/{fault_id:int}", "DELETE", self._remove_fault),
            ("/switches", "GET", self._switches),
            ("/switches", "POST", self._switch),
            ("/disconnect", "POST", self._disconnect),
            ("/http-target", "POST", self._http_target),
            ("/change-person", "POST", self._change_person),
            ("/change-channel", "POST", self._change_channel),
            ("/change-usergroup", "POST", self._change_usergroup),
            ("/calls", "GET", self._calls),
            ("/deliveries", "GET", self._deliveries),
        ]
        return [Route(f"/sandbox/api{path}", answering(handler), methods=[verb]) for path, verb, handler in table]

    async def _faults(self, request: Request) -> list[Json]:
        return [fault.to_data() for fault in self._core.faults.current()]

    async def _add_fault(self, request: Request) -> Json:
        body = await body_of(request)
        fault = self._core.faults.add(str(body.pop("kind", "")), str(body.pop("on", "*")), **body)
        self._core.store.touch()
        return fault.to_data()

    async def _clear_faults(self, request: Request) -> Json:
        self._core.faults.clear()
        self._core.store.touch()
        return {"ok": True}

    async def _remove_fault(self, request: Request) -> Json:
        self._core.faults.remove(request.path_params["fault_id"])
        self._core.store.touch()
        return {"ok": True}

    async def _switches(self, request: Request) -> Json:
        current = {name: getattr(self._core.switches, name) for name in _SWITCHES}
        target = self._core.deliveries.transport
        return {
            **current,
            "rate_limits": self._core.rate_limits.enabled,
            "event_retry_seconds": list(self._core.deliveries.retries[EVENT]),
            "http_target": target.url if isinstance(target, HttpTarget) else "",
            "connections": self._core.sockets.count,
        }

    async def _switch(self, request: Request) -> Json:
        for name, value in (await body_of(request)).items():
            if name == "rate_limits":
                self._core.rate_limits.enabled = bool(value)
            elif name == "event_retry_seconds":
                self._core.deliveries.retries[EVENT] = tuple(float(pause) for pause in value)
            elif name in _SWITCHES:
                setattr(self._core.switches, name, value)
            else:
                raise PersonError(f"no switch `{name}`; switches: {', '.join(await self._switches(request))}")
        return await self._switches(request)

    async def _disconnect(self, request: Request) -> Json:
        how = (await body_of(request)).get("how", "refresh")
        if how not in ("refresh", "drop"):
            raise PersonError("`how` is refresh or drop")
        sockets = self._core.sockets
        return {"disconnected": await (sockets.drop() if how == "drop" else sockets.disconnect())}

    async def _http_target(self, request: Request) -> Json:
        url = (await body_of(request)).get("url", "")
        core = self._core
        if not url:
            core.deliveries.transport = core.sockets
            return {"http_target": "", "verified": True}
        target = HttpTarget(url, core.workspace.app.signing_secret, core.clock)
        verified = await target.verify()
        if verified:
            core.deliveries.transport = target
        return {"http_target": url, "verified": verified}

    async def _change_person(self, request: Request) -> Json:
        body = await body_of(request)
        return await self._accounts.change(body.pop("who", ""), body)

    async def _change_usergroup(self, request: Request) -> Json:
        body = await body_of(request)
        group = self._core.workspace.change_usergroup(body.pop("usergroup", ""), **body)
        self._core.store.touch()
        return dict(vars(group))

    async def _change_channel(self, request: Request) -> Json:
        body = await body_of(request)
        channel = self._core.workspace.change_channel(body.pop("channel", ""), **body)
        self._core.store.touch()
        return dict(vars(channel))

    async def _calls(self, request: Request) -> list[Json]:
        wanted = request.query_params.get("method", "")
        return [call for call in self._core.calls if wanted in ("", call["method"])]

    async def _deliveries(self, request: Request) -> list[Json]:
        wanted = request.query_params.get("kind", "")
        return [one for one in self._core.deliveries.log if wanted in ("", one["kind"])]
