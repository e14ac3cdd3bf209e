"""Payloads of the regular looks: over places, over workflows, over people."""

from dataclasses import dataclass

from lessor.contracts.messages import PageInput
from lessor.domain.request import Place


@dataclass(frozen=True)
class SweepInput:
    """The places to read."""

    places: tuple[Place, ...] = ()


@dataclass(frozen=True)
class SweepPlace:
    """Read one place. `missing` is how many complete readings in a row did not show a machine, by machine."""

    place: Place
    missing: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class PlaceReport:
    """What one reading of a place came to: counts, and the ids of the few that changed.

    `complete` is false when anything was unread; then nothing was compared, and `missing` is as it was before.
    `told` are leases that were told; `left_over` are leases on record as over of which something is still there.
    `brake` says why absences were ignored; `unread` counts the readings in a row, up to this one, that were incomplete.
    `faults` are machines that something is wrong with, and what. `blind` says which kinds may not be read although the
    rest was, and why.
    """

    place: Place
    complete: bool
    resources: int = 0
    leases: int = 0
    told: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()
    missing: tuple[tuple[str, int], ...] = ()
    problem: str = ""
    brake: str = ""
    unread: int = 0
    faults: tuple[tuple[str, str], ...] = ()
    blind: str = ""


@dataclass(frozen=True)
class SweepRuns:
    """Look for leases without a workflow, and go on with these, of which something was left over."""

    left_over: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunsReport:
    """How many open leases were looked at, which are taken down by a new workflow now, and what went wrong.

    `stranded` are open leases that have no workflow still; `brake` says why they were left alone, if that is why.
    `unmetered` says why nobody watches what leases do, if nobody does.
    """

    leases: int = 0
    resumed: tuple[str, ...] = ()
    problem: str = ""
    stranded: tuple[str, ...] = ()
    brake: str = ""
    unmetered: str = ""


@dataclass(frozen=True)
class SweepOutcome:
    """The result of one sweep; the schedule hands it to the next one, which goes on counting from it.

    `unheard` are pages that reached nobody; the next sweep tries them again (law 7).
    """

    places: tuple[PlaceReport, ...] = ()
    runs: RunsReport = RunsReport()
    unheard: tuple[PageInput, ...] = ()


@dataclass(frozen=True)
class OwnerLeft:
    """The account of a lease's owner does not work any more: whom to offer it to, one circle after the other.

    `held` says that others hold it too, so that it does not end for want of a new owner.
    """

    owner: str
    circles: tuple[tuple[str, ...], ...] = ()
    held: bool = False


@dataclass(frozen=True)
class PeopleReport:
    """What one look at all owners and approvers came to: counts, and the leases that were told.

    `left` are leases that were told that their owner has left, `restaffed` those whose approvers are looked up anew.
    `unknown` counts owners of whom nothing could be read: nothing is done about them. `brake` says why nothing at all
    was done. `unread` counts the looks in a row, up to this one, in which somebody was unknown.
    """

    leases: int = 0
    owners: int = 0
    unknown: int = 0
    left: tuple[str, ...] = ()
    restaffed: tuple[str, ...] = ()
    brake: str = ""
    problem: str = ""
    unread: int = 0
    unheard: tuple[PageInput, ...] = ()
