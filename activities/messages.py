"""Tells people. The text is made from the ledger's record, so that a retried message shows what is true now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from temporalio import activity

from activities.beating import beating
from activities.errors import as_application_errors
from activities.leases import lease_of
from lessor.contracts import Delivery, LeaseRef, NotifyInput, PageInput
from lessor.ports import LeaseBook, Notifier

PATIENT_ATTEMPTS = 4
"""So many attempts wait for a channel that fails now (about 15 s in all); later and late ones take the next channel."""


class MessageActivities:
    """Holds the notifier and reads the lease that it speaks of."""

    def __init__(self, notifier: Notifier, book: LeaseBook, clock: Callable[[], datetime]) -> None:
        self._notifier = notifier
        self._book = book
        self._clock = clock

    @activity.defn
    async def notify(self, wanted: NotifyInput) -> Delivery:
        """Post or update the messages of one notice; says whether somebody was reached."""
        with as_application_errors():
            async with beating():
                lease = await asyncio.to_thread(lease_of, self._book, LeaseRef(wanted.lease_id, wanted.revision))
                return await self._notifier.notify(
                    lease,
                    wanted.notice,
                    wanted.before,
                    self._clock(),
                    revision=wanted.revision,
                    patient=_patient(wanted),
                )

    @activity.defn
    async def page(self, wanted: PageInput) -> Delivery:
        """Page the administrators; says whether somebody was reached."""
        with as_application_errors():
            async with beating():
                return await self._notifier.page(wanted, self._clock(), patient=_patient(wanted))


def _patient(wanted: NotifyInput | PageInput) -> bool:
    return wanted.until is None and activity.info().attempt <= PATIENT_ATTEMPTS
