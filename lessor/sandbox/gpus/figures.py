"""What exporters say of a machine, with the names and labels of dcgm-exporter and of lessor's own heartbeat."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lessor.sandbox.gpus.doing import Doing, Exporter, Use
from lessor.sandbox.gpus.machines import Machine, Pod

DCGM, HOST = "dcgm-exporter", "lessor-host"
PORTS: Final = {DCGM: 9400, HOST: 9401}
"""The two exporters of each machine, and where they would listen."""

SLICES: Final = 7
"""Slices that one GPU is cut into, as with profile 1g.10gb of an 80 GB card."""

HELP: Final = {
    "DCGM_FI_DEV_GPU_UTIL": "GPU utilization (in %).",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "Ratio of time the graphics engine is active.",
    "DCGM_FI_PROF_SM_ACTIVE": "The ratio of cycles an SM has at least 1 warp assigned.",
    "DCGM_FI_DEV_FB_USED": "Framebuffer memory used (in MiB).",
    "DCGM_FI_DEV_FB_FREE": "Framebuffer memory free (in MiB).",
    "DCGM_FI_DEV_POWER_USAGE": "Power draw (in W).",
    "lessor_host_gpu_processes": "Processes that hold the GPU.",
    "lessor_host_cpu_percent": "Processor in use (in %).",
    "lessor_host_network_bytes_per_second": "Bytes sent and received each second.",
    "lessor_host_disk_bytes_per_second": "Bytes read and written each second.",
    "lessor_host_sessions": "People who typed something lately.",
    "lessor_host_kernels": "Notebook kernels that are computing.",
    "process_start_time_seconds": "Start time of the process since unix epoch in seconds.",
}
_WATTS: Final = {"T4": 70, "T4G": 70, "L4": 72, "A100": 400, "H100": 700, "H200": 700, "B200": 1000, "B300": 1100}


@dataclass(frozen=True)
class Figure:
    """One sample as the exporter `job` of a machine writes it."""

    job: str
    name: str
    labels: dict[str, str]
    value: float


@dataclass(frozen=True)
class _Load:
    """`engine`, `memory` and `power` are shares of what the GPU has."""

    engine: float = 0.0
    memory: float = 0.0
    power: float = 0.11
    processes: int = 0


_LOADS: Final = {
    Use.BUSY: _Load(0.88, 0.82, 0.86, 1),
    Use.HELD: _Load(0.0, 0.88, 0.16, 1),
    Use.STUCK: _Load(1.0, 0.61, 0.2, 0),
}
_CPU: Final = {Use.BUSY: 37.0, Use.PREPARING: 84.0, Use.TYPING: 4.0}


def figures(machine: Machine, doing: Doing, now: float) -> list[Figure]:
    """All that can be measured of it at `now`, in seconds since the epoch; nothing while nobody measures it."""
    if now < doing.silent_until:
        return []
    gpus = [] if doing.exporter is Exporter.GONE else [*_of_gpus(machine, doing, now)]
    # The heartbeat of a node is not that of a pod on it.
    return gpus if machine.pod else [*gpus, *_of_host(machine, doing, now)]


def load_of(machine: Machine, doing: Doing, index: int) -> tuple[Use, float, float]:
    """What one GPU does, and the shares of its engine and of its memory that are in use: what the page draws."""
    use = _use(machine, doing, index)
    load = _LOADS.get(use, _Load())
    return use, load.engine, load.memory


def _use(machine: Machine, doing: Doing, index: int) -> Use:
    working = machine.gpus if doing.working is None else doing.working
    return doing.use if index < working else Use.IDLE


def _of_gpus(machine: Machine, doing: Doing, now: float) -> Iterator[Figure]:
    family = machine.model.partition("-")[0]
    watts = _WATTS.get(family, 300)
    for index in range(machine.gpus):
        load = _LOADS.get(_use(machine, doing, index), _Load())
        labels = {
            "gpu": str(index),
            "UUID": machine.gpu_id(index),
            "pci_bus_id": f"00000000:{16 + index:02X}:00.0",
            "device": f"nvidia{index}",
            "modelName": f"NVIDIA {machine.model}",
            **(_of_pod(machine.pod, index) if doing.labelled else {}),
        }
        for part in range(1, SLICES + 1) if doing.mig else (0,):
            memory = machine.memory / SLICES if part else float(machine.memory)
            # One slice of the GPU works, the others are free: as it is when one job has got one slice.
            share = load if part < 2 else _Load()
            told = labels | ({"GPU_I_PROFILE": "1g.10gb", "GPU_I_ID": str(part)} if part else {})
            if doing.labelled:
                told["Hostname"] = machine.hostname
            yield from _of_gpu(share, told, memory, watts, now + index)
    yield Figure(DCGM, "process_start_time_seconds", {}, _began(machine, doing))


def _of_pod(pod: Pod | None, index: int) -> dict[str, str]:
    """Whose a GPU is, as the exporter of a cluster learns it from the kubelet."""
    if pod is None:
        return {}
    owner = {"exported_namespace": pod.namespace, "exported_pod": pod.name, "exported_container": "main"}
    return owner | ({"GPU_I_PROFILE": pod.slice, "GPU_I_ID": str(index + 1)} if pod.slice else {})


def _of_gpu(load: _Load, labels: dict[str, str], memory: float, watts: float, phase: float) -> Iterator[Figure]:
    # A slice has no utilisation of its own: the field says 0 whatever it does (dcgm-exporter#216).
    sliced = "GPU_I_ID" in labels
    engine = min(load.engine * (1 + 0.08 * math.sin(phase / 3)), 1.0)
    used = max(round(load.memory * memory), 4)
    values = {
        "DCGM_FI_DEV_GPU_UTIL": 0.0 if sliced else float(round(engine * 100)),
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE": round(engine, 4),
        "DCGM_FI_PROF_SM_ACTIVE": round(engine * 0.8, 4),
        "DCGM_FI_DEV_FB_USED": float(used),
        "DCGM_FI_DEV_FB_FREE": float(round(memory) - used),
        "DCGM_FI_DEV_POWER_USAGE": round(load.power * watts * (1 + 0.03 * math.sin(phase / 5)), 1),
    }
    for name, value in values.items():
        yield Figure(DCGM, name, labels, value)
    own = {name: text for name, text in labels.items() if name in ("gpu", "UUID", "GPU_I_ID", "Hostname")}
    yield Figure(HOST, "lessor_host_gpu_processes", own, float(load.processes))


def _of_host(machine: Machine, doing: Doing, now: float) -> Iterator[Figure]:
    labels = {"Hostname": machine.hostname} if doing.labelled else {}
    busy = doing.use is Use.BUSY and doing.working != 0
    wave = 1 + 0.1 * math.sin(now / 4)
    values = {
        "lessor_host_cpu_percent": round(_CPU.get(doing.use, 2.0) * wave, 1),
        "lessor_host_network_bytes_per_second": round((2_400_000.0 if busy else 2_100.0) * wave),
        "lessor_host_disk_bytes_per_second": round((48e6 if doing.use is Use.PREPARING else 9_000.0) * wave),
        "lessor_host_sessions": 1.0 if doing.use is Use.TYPING else 0.0,
        "lessor_host_kernels": 0.0,
    }
    for name, value in values.items():
        yield Figure(HOST, name, labels, float(value))
    yield Figure(HOST, "process_start_time_seconds", {}, machine.started)


def _began(machine: Machine, doing: Doing) -> float:
    return max(machine.started, doing.restarted)
