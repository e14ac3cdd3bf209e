"""Response urls, uploads, files and permalinks: the addresses the Web API hands out."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from lessor.sandbox.slack import limits
from lessor.sandbox.slack.api_chat import revise
from lessor.sandbox.slack.core import Core, ResponseUrl
from lessor.sandbox.slack.errors import SlackError

Json = dict[str, Any]


class Hooks:
    """Endpoints over one core."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def routes(self) -> list[Route]:
        return [
            Route("/hooks/{team}/{key}", self._response_url, methods=["POST"]),
            Route("/upload/{file_id}", self._upload, methods=["POST"]),
            Route("/files/{file_id}", self._file),
            Route("/files/{file_id}/{name}", self._file),
            Route("/archives/{channel}/{ts}", self._permalink),
        ]

    async def _response_url(self, request: Request) -> Response:
        known = self._core.response_urls.get(request.path_params["key"])
        try:
            if known is None or self._core.clock.now() > known.expires:
                raise SlackError("expired_url")
            if known.uses >= limits.RESPONSE_URL_USES:
                raise SlackError("used_url")
            known.uses += 1
            self._respond(known, json.loads(await request.body()))
        except SlackError as refused:
            return JSONResponse(refused.answer(), status_code=404 if refused.code.endswith("_url") else 400)
        except ValueError:
            return PlainTextResponse("invalid_payload", status_code=400)
        return PlainTextResponse("ok")

    def _respond(self, known: ResponseUrl, content: Json) -> None:
        core = self._core
        original = core.store.find(known.channel, known.message_ts)
        if content.get("delete_original"):
            if original is None:
                raise SlackError("message_not_found")
            core.store.remove(original)
        elif content.get("replace_original") and original is not None:
            blocks = content.get("blocks")
            core.check_blocks(blocks or [])
            revise(core, original, content.get("text", ""), blocks, content.get("attachments"))
        else:
            core.tell(known.person, known.channel, content, known.thread_ts)

    async def _upload(self, request: Request) -> Response:
        file = self._core.files.known.get(request.path_params["file_id"])
        if file is None:
            return PlainTextResponse("file_not_found", status_code=404)
        if self._core.faults.use("down", "upload") is not None:
            return PlainTextResponse("upstream unavailable", status_code=503)
        content = await request.body()
        if request.headers.get("content-type", "").startswith("multipart/form-data"):
            form = await request.form()
            uploads = [value for value in form.values() if not isinstance(value, str)]
            content = await uploads[0].read() if uploads else b""
        if len(content) != file.size:
            return PlainTextResponse("file size does not match the announced length", status_code=400)
        file.content = content
        return PlainTextResponse(f"OK - {len(content)}")

    async def _file(self, request: Request) -> Response:
        file = self._core.files.known.get(request.path_params["file_id"])
        if file is None or file.content is None:
            return PlainTextResponse("file_not_found", status_code=404)
        return Response(file.content, media_type=file.mimetype)

    async def _permalink(self, request: Request) -> Response:
        digits = request.path_params["ts"].removeprefix("p")
        return RedirectResponse(f"/#{request.path_params['channel']}/{digits[:-6]}.{digits[-6:]}")
