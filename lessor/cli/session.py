"""One run of a command: who acts, through which gateway, and with which exit code it ends."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from lessor.config import Config
    from lessor.domain.people import Person
    from lessor.gateway import Gateway
    from lessor.ledger import SqlLedger
    from lessor.settings import Settings

DONE, REFUSED, USAGE, UNREACHABLE = 0, 1, 2, 3
UNREACHABLE_CODES = frozenset({"unreachable", "place-unreachable"})


def _open_gateway(settings: Settings, config: Config) -> AbstractAsyncContextManager[Gateway]:
    import logging

    import structlog

    from lessor.wiring import open_gateway

    # People at a terminal get one line that says what to do; the log of the same failure would bury it.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    return open_gateway(settings, config)


def _open_ledger(url: str) -> SqlLedger:
    from lessor.ledger import open_ledger

    return open_ledger(url)


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Session:
    """Who acts, and what tests replace: how gateway and ledger are opened, the clock, whether somebody can be asked."""

    actor: str = ""
    config: Path | None = None
    as_json: bool = False
    open_gateway: Callable[[Settings, Config], AbstractAsyncContextManager[Gateway]] = _open_gateway
    open_ledger: Callable[[str], SqlLedger] = _open_ledger
    now: Callable[[], datetime] = _utc_now
    interactive: Callable[[], bool] = _at_terminal

    @staticmethod
    def of(context: typer.Context, actor: str, config: Path | None, as_json: bool) -> Session:
        """The session of this command line."""
        return replace(context.obj or Session(), actor=actor.strip(), config=config, as_json=as_json)

    def run(self, work: Callable[[Gateway, Person], Awaitable[int]]) -> None:
        """Do `work` as the acting person, then leave with its exit code."""
        import asyncio

        with refusals(self.as_json):
            raise typer.Exit(asyncio.run(self._run(work)))

    @contextmanager
    def ledger(self) -> Iterator[SqlLedger]:
        """The ledger of the settings, to read it. Raises `Refused` ("no-ledger") for a file that does not exist."""
        from lessor.domain.errors import Refused
        from lessor.ledger.database import sqlite_file
        from lessor.settings import read_settings

        url = read_settings().database_url
        file = sqlite_file(url)
        if file and not file.exists():
            remedy = "set LESSOR_DATABASE_URL, or go to the folder whose .lessor has it"
            raise Refused("no-ledger", f"there is no ledger {file}; nothing was made: {remedy}")
        ledger = self.open_ledger(url)
        try:
            yield ledger
        finally:
            ledger.close()

    def confirm(self, question: str, *, yes: bool, needed: bool = True) -> None:
        """Ask, unless `yes`. Raises `Refused` ("not-confirmed"), also when it is needed and nobody can be asked."""
        from lessor.domain.errors import Refused

        can_ask = self.interactive() and not self.as_json
        if yes or not (can_ask or needed):
            return
        if not can_ask:
            raise Refused("not-confirmed", "nothing was done; nobody can be asked here, so add --yes to confirm")
        if not typer.confirm(question):
            raise Refused("not-confirmed", "nothing was done")

    async def _run(self, work: Callable[[Gateway, Person], Awaitable[int]]) -> int:
        from lessor.config import load
        from lessor.domain.errors import Invalid, Refused
        from lessor.settings import SettingsError, read_settings
        from lessor.when import in_zone

        if not self.actor:
            raise SettingsError("say who you are: --as ID or LESSOR_USER, with an id or e-mail address of lessor.yaml")
        settings = read_settings()
        config = load(self.config or settings.lessor_config)
        async with self.open_gateway(settings, config) as gateway:
            person = await gateway.person(self.actor)
            if person is None:
                remedy = "use an id or e-mail address that stands in lessor.yaml under organisation.people"
                raise Refused("unknown-person", f"nobody is '{self.actor[:60]}'; {remedy}")
            try:
                return await work(gateway, person)
            except Refused as refused:
                if self.as_json or isinstance(refused, Invalid):
                    raise
                raise Refused(refused.code, in_zone(str(refused), person.tz)) from refused


@contextmanager
def refusals(as_json: bool) -> Iterator[None]:
    """Turns what can go wrong into one message and an exit code; the message says what to do."""
    from lessor.cli.output import refuse
    from lessor.config import ConfigError
    from lessor.domain.errors import Invalid, Refused
    from lessor.ports import LedgerUnavailableError
    from lessor.settings import SettingsError

    try:
        yield
    except Invalid as invalid:
        refuse(as_json, invalid.code, "the request was not sent", invalid.errors)
        raise typer.Exit(REFUSED) from None
    except Refused as refused:
        refuse(as_json, refused.code, str(refused))
        raise typer.Exit(UNREACHABLE if refused.code in UNREACHABLE_CODES else REFUSED) from None
    except (ConfigError, SettingsError) as error:
        refuse(as_json, "configuration", str(error))
        raise typer.Exit(USAGE) from None
    except LedgerUnavailableError as error:
        refuse(as_json, "ledger-unreachable", f"{error}; nothing was changed, check LESSOR_DATABASE_URL and try again")
        raise typer.Exit(UNREACHABLE) from None
