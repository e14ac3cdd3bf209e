"""The few programs that a simulated container has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lessor.sandbox.kubernetes.inside.containers import Inside

FILE = "SIMULATED.txt"
NOT_FOUND = 127
_ABOUT = """This container is simulated: nothing runs in it, and what is written here is kept nowhere.
In a real cluster this is a shell in the image {image}.
"""


@dataclass(frozen=True)
class Done:
    """What a program wrote, and the code that it ended with."""

    out: str = ""
    err: str = ""
    code: int = 0


def run(inside: Inside, words: Sequence[str], now: datetime) -> Done:
    """One program by its name and arguments. What there is not ends with 127."""
    name = words[0].rpartition("/")[2]
    known = _programs(inside)
    if name not in known:
        told = f"{words[0]}: not found. This container is simulated and has only: {', '.join(sorted(known))}\n"
        return Done(err=told, code=NOT_FOUND)
    return known[name](inside, list(words[1:]), now)


def about(inside: Inside) -> str:
    return _ABOUT.format(image=inside.image)


Program = Callable[[Inside, list[str], datetime], Done]


def _programs(inside: Inside) -> Mapping[str, Program]:
    """The tools for GPUs are there where there are such GPUs, as a node brings them along."""
    tools: dict[str, Program] = {
        "cat": _cat,
        "date": lambda _, __, now: Done(f"{now.astimezone(UTC):%a %b %e %H:%M:%S UTC %Y}\n"),
        "echo": lambda _, words, __: Done(f"{' '.join(words)}\n"),
        "env": _env,
        "false": lambda *_: Done(code=1),
        "help": lambda it, *_: Done(f"{about(it)}It has: {', '.join(sorted(_programs(it)))}, exit\n"),
        "hostname": lambda it, *_: Done(f"{it.pod}\n"),
        "ls": _ls,
        "pwd": lambda it, *_: Done(f"{it.directory}\n"),
        "true": lambda *_: Done(),
        "whoami": lambda *_: Done("simulated\n"),
    }
    if any(name.startswith("nvidia.com/") for name in inside.devices):
        tools["nvidia-smi"] = _nvidia_smi
    if any(name.startswith("amd.com/") for name in inside.devices):
        tools["rocm-smi"] = _rocm_smi
    return tools


def _cat(inside: Inside, words: list[str], _: datetime) -> Done:
    told = [Done(about(inside)) if one.rpartition("/")[2] == FILE else _no_file("cat", one) for one in words]
    return Done(
        "".join(one.out for one in told), "".join(one.err for one in told), max((one.code for one in told), default=0)
    )


def _ls(inside: Inside, words: list[str], _: datetime) -> Done:
    places = [one for one in words if not one.startswith("-")] or [inside.directory]
    missing = [one for one in places if one not in (".", "/", FILE, inside.directory)]
    if missing:
        return _no_file("ls", missing[0], 2)
    return Done(f"{FILE}\n")


def _no_file(program: str, name: str, code: int = 1) -> Done:
    return Done(err=f"{program}: {name}: No such file or directory\n", code=code)


def _env(inside: Inside, _: list[str], __: datetime) -> Done:
    told = {"HOSTNAME": inside.pod, "PWD": inside.directory, **inside.environment}
    return Done("".join(f"{name}={value}\n" for name, value in told.items()))


def _nvidia_smi(inside: Inside, words: list[str], _: datetime) -> Done:
    names = _names(inside, "nvidia.com/")
    if words == ["-L"]:
        return Done("".join(f"GPU {index}: {name} (simulated)\n" for index, name in enumerate(names)))
    if words:
        return Done(err=f"nvidia-smi {' '.join(words)}: simulated, and knows nothing but -L\n", code=2)
    return Done(_drawn("NVIDIA-SMI", names, f"{inside.memory} MiB" if inside.memory else ""))


def _rocm_smi(inside: Inside, _: list[str], __: datetime) -> Done:
    return Done(_drawn("ROCm SMI", _names(inside, "amd.com/"), ""))


def _names(inside: Inside, start: str) -> list[str]:
    """One for each GPU or slice of it."""
    found = []
    for resource, count in sorted(inside.devices.items()):
        _, cut, profile = resource.partition("/mig-")
        if resource.startswith(start):
            found += [inside.product(resource) + (f" MIG {profile}" if cut else "")] * count
    return found


def _drawn(title: str, names: Sequence[str], memory: str) -> str:
    line = f"+{'-' * 72}+\n"
    rows = [f"{index:>3}  {name:<46} {memory:>18}" for index, name in enumerate(names)]
    shown = [f"{title} (simulated: nothing is measured, and nothing runs)", *rows]
    return line + line.join(f"| {row:<70} |\n" for row in shown) + line
