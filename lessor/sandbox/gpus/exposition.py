"""What a Prometheus of one's own reads: the exporters' pages, and the list of where they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from lessor.sandbox.gpus.figures import DCGM, HELP, HOST, Figure
from lessor.sandbox.gpus.simulation import Simulation


def page(simulation: Simulation, machine_id: str = "", job: str = "") -> str:
    """The figures of all machines, or of one exporter of one, in the text format of Prometheus.

    On the page of all, each series says its machine; of a single exporter the Prometheus knows it from the list.
    """
    told = [
        (one, machine.found_as if not machine_id and simulation.doing(machine.id).labelled else {})
        for machine in simulation.machines.values()
        if machine_id in ("", machine.id)
        for one in simulation.figures(machine.id)
        if job in ("", one.job)
    ]
    return "".join(f"{line}\n" for line in _lines(told))


def targets(simulation: Simulation, address: str) -> list[dict[str, object]]:
    """Where the exporters are, for `http_sd_configs`; `address` is that of this program."""
    return [
        {
            "targets": [address],
            "labels": {
                **simulation.target(machine, job),
                "__param_machine": machine.id,
                "__param_job": job,
            },
        }
        for machine in simulation.machines.values()
        for job in (DCGM, HOST)
    ]


def _lines(told: Iterable[tuple[Figure, dict[str, str]]]) -> Iterator[str]:
    by_name = sorted(told, key=lambda one: one[0].name)
    for name, group in groupby(by_name, key=lambda one: one[0].name):
        yield f"# HELP {name} {HELP[name]}"
        yield f"# TYPE {name} gauge"
        for figure, more in group:
            labels = ",".join(f'{label}="{text}"' for label, text in {**figure.labels, **more}.items())
            yield f"{name}{{{labels}}} {figure.value}" if labels else f"{name} {figure.value}"
