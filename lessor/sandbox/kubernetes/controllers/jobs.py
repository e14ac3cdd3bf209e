"""Jobs and cron jobs: pods that end."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.clock import instant, stamp
from lessor.sandbox.kubernetes.controllers.replicas import active, make_pod, pod_from
from lessor.sandbox.kubernetes.controllers.world import World, reference
from lessor.sandbox.kubernetes.kinds import kind

Obj = dict[str, Any]
POD, JOB, CRON_JOB = kind("Pod"), kind("Job"), kind("CronJob")
_WORDS = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *"}


def run(world: World) -> None:
    for one in world.store.all(CRON_JOB):
        if "deletionTimestamp" not in one["metadata"] and not one["spec"].get("suspend"):
            _due(world, one)
    for one in world.store.all(JOB):
        if "deletionTimestamp" not in one["metadata"]:
            _work(world, one)


def matches(schedule: str, at: datetime) -> bool:
    """Whether a schedule of five fields names that minute."""
    parts = _WORDS.get(schedule, schedule).split()
    values = (at.minute, at.hour, at.day, at.month, (at.weekday() + 1) % 7)
    firsts = (0, 0, 1, 1, 0)
    return all(_names(part, value, first) for part, value, first in zip(parts, values, firsts, strict=True))


def _work(world: World, job: Obj) -> None:
    spec, status = job["spec"], copy.deepcopy(job.get("status", {}))
    found = world.dependents(POD, job)
    alive = active(found)
    succeeded = sum(one.get("status", {}).get("phase") == "Succeeded" for one in found)
    failed = sum(one.get("status", {}).get("phase") == "Failed" for one in found)
    wanted = spec.get("completions") or spec["parallelism"]
    now = world.clock.stamp()
    if pods.condition(job, "Complete") == "True" or pods.condition(job, "Failed") == "True":
        _expire(world, job)
        return
    if succeeded >= wanted:
        pods.conditioned(status, "Complete", "True", now, "CompletionsReached")
        status["completionTime"] = now
    elif failed > spec["backoffLimit"]:
        text = "Job has reached the specified backoff limit"
        pods.conditioned(status, "Failed", "True", now, "BackoffLimitExceeded", text)
    else:
        _run(world, job, alive, 0 if spec.get("suspend") else min(spec["parallelism"], wanted - succeeded))
        _mark_suspended(status, bool(spec.get("suspend")), now)
    alive = active(world.dependents(POD, job))
    counts = {"active": len(alive), "succeeded": succeeded, "failed": failed}
    status = {key: value for key, value in status.items() if key not in counts}
    status |= {name: count for name, count in counts.items() if count}
    status |= {"ready": sum(pods.ready(one) for one in alive)}
    world.status(JOB, job, status)


def _run(world: World, job: Obj, alive: list[Obj], wanted: int) -> None:
    for _ in range(wanted - len(alive)):
        make_pod(world, JOB, job, pod_from(JOB, job, job["spec"]["template"]))
    for one in alive[: max(len(alive) - wanted, 0)]:
        world.remove(POD, one)


def _mark_suspended(status: Obj, suspended: bool, now: str) -> None:
    if suspended:
        pods.conditioned(status, "Suspended", "True", now, "JobSuspended", "Job suspended")
        status.pop("startTime", None)
        return
    status.setdefault("startTime", now)
    if any(one["type"] == "Suspended" for one in status.get("conditions") or []):
        pods.conditioned(status, "Suspended", "False", now, "JobResumed", "Job resumed")


def _expire(world: World, job: Obj) -> None:
    after = job["spec"].get("ttlSecondsAfterFinished")
    if after is not None and world.waited(job, "finished", float(after)):
        world.remove(JOB, job, propagationPolicy="Foreground")


def _due(world: World, cron: Obj) -> None:
    """One job for the newest minute that its schedule names since it last ran."""
    now = world.clock.now().replace(second=0, microsecond=0)
    last = instant(cron.get("status", {}).get("lastScheduleTime") or cron["metadata"]["creationTimestamp"])
    minutes = min(ceil((now - last) / timedelta(minutes=1)), 24 * 60)
    due = next((at for at in (now - timedelta(minutes=m) for m in range(minutes)) if _is_due(cron, at, last)), None)
    if due is None:
        return
    running = [one for one in world.dependents(JOB, cron) if not pods.condition(one, "Complete")]
    if running and cron["spec"]["concurrencyPolicy"] == "Forbid":
        return
    template = cron["spec"]["jobTemplate"]
    meta = {key: copy.deepcopy(template["metadata"].get(key) or {}) for key in ("labels", "annotations")}
    meta |= {"name": f"{cron['metadata']['name']}-{int(due.timestamp()) // 60}"}
    meta["ownerReferences"] = [reference(CRON_JOB, cron)]
    world.make(JOB, cron["metadata"]["namespace"], {"metadata": meta, "spec": copy.deepcopy(template["spec"])})
    world.status(CRON_JOB, cron, cron.get("status", {}) | {"lastScheduleTime": stamp(due)})


def _is_due(cron: Obj, at: datetime, last: datetime) -> bool:
    return at > last and matches(cron["spec"]["schedule"], at)


def _names(part: str, value: int, first: int) -> bool:
    for one in part.split(","):
        span, _, step = one.partition("/")
        low, dash, high = span.partition("-")
        if span == "*":
            inside, start = True, first
        else:
            start = int(low)
            inside = start <= value <= int(high) if dash else (value >= start if step else value == start)
        if inside and (value - start) % int(step or 1) == 0:
            return True
    return False
