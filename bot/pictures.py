"""The chart of a warning, uploaded once for all its readers. Whatever goes wrong, the warning goes out without it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

import aiohttp
import structlog
from prometheus_client import Counter
from slack_sdk.models.blocks import ImageBlock
from slack_sdk.models.blocks.basic_components import SlackFile

from bot.slack_client import SlackClient
from lessor.charts import Figures, figures, frame_of
from lessor.domain.lease import Lease
from lessor.domain.usage import HourUse, Observation
from lessor.ports import MessageBook, MessageRef

UNSEEN = Counter("lessor_charts_missing", "Warnings that went out without their chart", ["step"])

KEY = "picture/"
"""How the keys of uploaded charts begin in the book of messages; `ts` is the id of the file."""

SHOWN = timedelta(hours=24)
SAMPLES = timedelta(hours=6)
"""How far back single samples are shown; what was before is shown by the hour."""

SECONDS = 30.0
ALT_MOST = 1_000

log = structlog.get_logger(__name__)

Draw = Callable[[Figures], Awaitable[bytes]]


class Measured(Protocol):
    """What of the ledger charts are made from; part of `ports.MeterBook`."""

    def observations(self, since: datetime, until: datetime, lease_id: str = "") -> Iterable[Observation]: ...

    def usage(self, lease_id: str, since: datetime, until: datetime) -> Sequence[HourUse]: ...


class Pictures:
    """Makes image blocks. Never raises: `None` is no picture."""

    def __init__(self, slack: SlackClient, book: MessageBook, measured: Measured, draw: Draw) -> None:
        self._slack = slack
        self._book = book
        self._measured = measured
        self._draw = draw

    async def of(self, lease: Lease, occasion: str, zone: str, alt: str, now: datetime) -> ImageBlock | None:
        """What the lease did lately, on the clock of `zone`; `alt` says the same in words."""
        step = "figures"
        try:
            async with asyncio.timeout(SECONDS):
                key = f"{KEY}{lease.id}/{occasion}"
                known = await asyncio.to_thread(self._book.message, key)
                if known and known.ts:
                    return _block(known.ts, alt)
                shown = await asyncio.to_thread(self._figures, lease, zone, now)
                if not shown["points"] and not shown["hours"]:
                    return None
                step = "draw"
                drawn = await self._draw(shown)
                step = "upload"
                file_id = await self._upload(lease, drawn, alt)
                await asyncio.to_thread(self._book.save_message, MessageRef(key, lease.id, ts=file_id))
                return _block(file_id, alt)
        except Exception as error:
            UNSEEN.labels(step).inc()
            log.warning("a warning goes out without its chart", lease=lease.id, step=step, problem=repr(error)[:300])
            return None

    def _figures(self, lease: Lease, zone: str, now: datetime) -> Figures:
        begin = max(now - SHOWN, lease.ready_at) if lease.ready_at else now - SHOWN
        samples = max(now - SAMPLES, begin)
        seen = tuple(self._measured.observations(samples, now + timedelta(seconds=1), lease.id))
        return figures(frame_of(lease, begin, now, zone), seen, self._measured.usage(lease.id, begin, now))

    async def _upload(self, lease: Lease, drawn: bytes, alt: str) -> str:
        """The id of the file, which is in no conversation: whoever sees the message sees it there."""
        name = f"{lease.id}.png"
        asked = await self._slack.files_getUploadURLExternal(filename=name, length=len(drawn), alt_txt=alt[:ALT_MOST])
        await self._send(str(asked["upload_url"]), drawn)
        file_id = str(asked["file_id"])
        await self._slack.files_completeUploadExternal(files=[{"id": file_id, "title": lease.id}])
        return file_id

    async def _send(self, address: str, content: bytes) -> None:
        session = self._slack.session or aiohttp.ClientSession()
        try:
            async with session.post(address, data=content) as answer:
                answer.raise_for_status()
        finally:
            if session is not self._slack.session:
                await session.close()


def _block(file_id: str, alt: str) -> ImageBlock:
    return ImageBlock(alt_text=alt[:ALT_MOST], slack_file=SlackFile(id=file_id))
