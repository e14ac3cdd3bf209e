"""`python -m lessor.sandbox.mail --port N --smtp-port M`: mail server, receiver of events and page as one program."""

from __future__ import annotations

import argparse
import asyncio
import os

from aiohttp import web

from lessor.sandbox.mail.postbox import Postbox
from lessor.sandbox.mail.server import make_application
from lessor.sandbox.mail.smtp import MailServer
from lessor.sandbox.serving import told_to_stop


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m lessor.sandbox.mail", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port of the page (default: a free one)")
    parser.add_argument("--smtp-port", type=int, default=0, help="port of the mail server (default: a free one)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--secret-env", default="LESSOR_WEBHOOK_SECRET", help="variable with the secret of events")
    chosen = parser.parse_args(arguments)
    asyncio.run(_serve(chosen.host, chosen.port, chosen.smtp_port, os.environ.get(chosen.secret_env, "")))


async def _serve(host: str, port: int, smtp_port: int, secret: str) -> None:
    stop = told_to_stop()
    postbox = Postbox()
    runner = web.AppRunner(make_application(postbox, secret), access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        async with MailServer(postbox, smtp_port, host) as mail:
            page = runner.addresses[0]
            print(f"sandbox mail: http://{page[0]}:{page[1]}/  (smtp://{host}:{mail.port})", flush=True)  # noqa: T201
            await stop.wait()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    main()
