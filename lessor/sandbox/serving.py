"""What the simulators' servers share, as programs that run until they are told to stop and beside synchronous tests."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from aiohttp import web


def told_to_stop() -> asyncio.Event:
    """Set as soon as somebody asks this program to stop; its loop has to run already."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def kept_going(stop: asyncio.Event, keepers: Sequence[asyncio.Task[None]]) -> None:
    """Wait for `stop`. A keeper that ends has failed, and the program with it: whoever supervises starts it again."""
    told = asyncio.create_task(stop.wait())
    await asyncio.wait([told, *keepers], return_when=asyncio.FIRST_COMPLETED)
    for keeper in keepers:
        if keeper.done():
            keeper.result()
        keeper.cancel()


class ServerThread:
    """Serves an application for as long as the block runs; entering gives its address.

    `beside` runs in the same loop until the end.
    """

    def __init__(
        self,
        name: str,
        application: Callable[[], web.Application],
        host: str,
        port: int,
        beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        self._application, self._host, self._port, self._beside = application, host, port, beside
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._runner: web.AppRunner | None = None

    def __enter__(self) -> str:
        self._thread.start()
        try:
            return asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(30)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _listen(self) -> str:
        self._runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        if self._beside is not None:
            self._task = asyncio.create_task(self._beside())
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def _close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        # aiohttp forgets a request whose caller went away: it would sleep on in a loop that is closed under it.
        forgotten = asyncio.all_tasks() - {asyncio.current_task()}
        for task in forgotten:
            task.cancel()
        await asyncio.gather(*forgotten, return_exceptions=True)
