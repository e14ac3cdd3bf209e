"""Ends as people write them: `8h`, `3 days`, `friday 18:00`, `2026-12-24`, `end of month`, `until 31 august`.

A strict grammar of our own: what it does not know for certain it refuses, with proposals (docs/adr/0004-human-ends.md).
Hours and minutes are elapsed time; days, weeks and months keep the time on the clock, whatever the clocks do (F24).
"""

from lessor.when.clock import local
from lessor.when.end import End, UnclearEndError
from lessor.when.parsing import end_and_rest, parse_end, speaks_of_an_end
from lessor.when.spelled import in_zone, retold
from lessor.when.start import Start, end_after, parse_start, speaks_of_a_start

__all__ = [
    "End",
    "Start",
    "UnclearEndError",
    "end_after",
    "end_and_rest",
    "in_zone",
    "local",
    "parse_end",
    "parse_start",
    "retold",
    "speaks_of_a_start",
    "speaks_of_an_end",
]
