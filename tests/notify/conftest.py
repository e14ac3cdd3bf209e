from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from lessor.ledger import SqlLedger, open_ledger
from lessor.sandbox.mail import MailServer as Sink
from lessor.sandbox.mail import Postbox
from tests.notify.receiving import receiver, session

__all__ = ["receiver", "session"]


@pytest.fixture
def book(sqlite_url: str) -> Iterator[SqlLedger]:
    opened = open_ledger(sqlite_url)
    yield opened
    opened.close()


@pytest_asyncio.fixture
async def sink() -> AsyncIterator[Sink]:
    async with Sink(Postbox()) as running:
        yield running
