"""All machines with what they do, sampled again and again as a Prometheus would scrape them, and kept in one file."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lessor.sandbox.gpus.doing import Answers, Doing, Use
from lessor.sandbox.gpus.figures import DCGM, HOST, PORTS, Figure, figures, load_of
from lessor.sandbox.gpus.machines import Machine
from lessor.sandbox.gpus.promql import Database
from lessor.sandbox.gpus.promql.series import NAME

Json = dict[str, Any]


@dataclass
class Asked:
    """One query, for the page: when, what, how long it took, and what came of it."""

    at: float
    query: str
    seconds: float
    outcome: str


@dataclass
class Simulation:
    """`machines` are those that run now; what they do is remembered by id, also while they are stopped.

    `newcomers` is what a machine does that is seen for the first time. `path` is where all that is set is kept.
    """

    path: Path | None = None
    clock: Callable[[], float] = time.time
    machines: dict[str, Machine] = field(default_factory=dict)
    database: Database = field(default_factory=Database)
    answers: Answers = Answers.WELL
    newcomers: Use = Use.BUSY
    asked: deque[Asked] = field(default_factory=lambda: deque(maxlen=40))
    unseen: str = ""

    def __post_init__(self) -> None:
        self._doing: dict[str, Doing] = {}
        if self.path is not None and self.path.exists():
            self._load(self.path)

    def see(self, machines: Iterable[Machine]) -> None:
        """These run now, and no others."""
        self.machines = {one.id: one for one in machines}
        new = [one for one in self.machines if one not in self._doing]
        for one in new:
            self._doing[one] = Doing(use=self.newcomers)
        if new:
            self._save()

    def sample(self) -> None:
        """Scrape everything once."""
        now = self.clock()
        self.database.scrape(self._samples(now), round(now * 1000))

    def doing(self, machine_id: str) -> Doing:
        return self._doing.get(machine_id, Doing(use=self.newcomers))

    def change(self, machine_id: str, changes: Json) -> Doing:
        """Set what a machine does: fields of `Doing`, a `gap` of so many seconds, `restart` of its exporter.

        Raises KeyError for a machine that does not run and ValueError for what cannot be.
        """
        if machine_id not in self.machines:
            raise KeyError(f"no machine {machine_id} runs; there are: {', '.join(self.machines) or 'none'}")
        now = self.clock()
        wanted = {name: value for name, value in changes.items() if name not in ("gap", "restart")}
        if "gap" in changes:
            wanted["silent_until"] = now + float(changes["gap"])
        if changes.get("restart"):
            wanted["restarted"] = now
        changed = self.doing(machine_id).changed(wanted)
        if changed.working is not None and changed.working > self.machines[machine_id].gpus:
            raise ValueError(f"working is at most {self.machines[machine_id].gpus}, the GPUs that it has")
        self._doing[machine_id] = changed
        self._save()
        return changed

    def switch(self, answers: str = "", newcomers: str = "") -> None:
        """How the Prometheus answers, and what new machines do. Raises ValueError for what cannot be."""
        for name, value, kind in (("answers", answers, Answers), ("newcomers", newcomers, Use)):
            if value and value not in list(kind):
                raise ValueError(f"{name} is one of: {', '.join(kind)}")
        self.answers = Answers(answers) if answers else self.answers
        self.newcomers = Use(newcomers) if newcomers else self.newcomers
        self._save()

    def figures(self, machine_id: str) -> list[Figure]:
        """What the exporters of one machine would say now."""
        return figures(self.machines[machine_id], self.doing(machine_id), self.clock())

    def target(self, machine: Machine, job: str) -> dict[str, str]:
        """The labels that a Prometheus gives to what it reads from one exporter; how it finds it says the machine."""
        labels = {"job": job, "instance": f"{machine.address}:{PORTS[job]}"}
        return labels | (machine.found_as if self.doing(machine.id).labelled else {})

    def state(self) -> Json:
        """Everything that the page shows."""
        now = self.clock()
        return {
            "now": now,
            "answers": self.answers,
            "newcomers": self.newcomers,
            "unseen": self.unseen,
            "machines": [self._machine(one, now) for one in self.machines.values()],
            "asked": [asdict(one) for one in reversed(self.asked)],
        }

    def _machine(self, machine: Machine, now: float) -> Json:
        doing = self.doing(machine.id)
        gpus = [load_of(machine, doing, index) for index in range(machine.gpus)]
        return {
            **asdict(machine),
            "hostname": machine.hostname,
            "doing": asdict(doing),
            "silent": max(0, round(doing.silent_until - now)),
            "loads": [{"use": use, "engine": engine, "memory": memory} for use, engine, memory in gpus],
        }

    def _samples(self, now: float) -> Iterator[tuple[dict[str, str], float, int]]:
        for machine in self.machines.values():
            doing = self.doing(machine.id)
            targets = {job: self.target(machine, job) for job in (DCGM, HOST)}
            stamp = round((now + doing.ahead) * 1000)
            for one in figures(machine, doing, now):
                yield {NAME: one.name, **one.labels, **targets[one.job]}, one.value, stamp

    def _save(self) -> None:
        if self.path is None:
            return
        kept = {
            "answers": self.answers,
            "newcomers": self.newcomers,
            "machines": {name: asdict(doing) for name, doing in self._doing.items()},
        }
        partial = self.path.with_suffix(".partial")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(kept), encoding="utf-8")
        os.replace(partial, self.path)

    def _load(self, path: Path) -> None:
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            self.answers, self.newcomers = Answers(kept["answers"]), Use(kept["newcomers"])
            self._doing = {name: Doing.from_json(one) for name, one in kept["machines"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            raise ValueError(f"{path} says nothing of GPUs ({wrong}); move it away to start afresh") from wrong
