"""Reading and writing objects as the API server does it: checks, fields' owners, finalizers, uids."""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from lessor.sandbox.kubernetes import defaults, errors, managed, metadata, validation
from lessor.sandbox.kubernetes.clock import Clock, stamp
from lessor.sandbox.kubernetes.decoding import decoded
from lessor.sandbox.kubernetes.kinds import Kind, kind
from lessor.sandbox.kubernetes.managed import APPLY, Writer
from lessor.sandbox.kubernetes.patches import MERGE, patched
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


@dataclass(frozen=True)
class User:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()


CONTROLLER = User("system:kube-controller-manager", ("system:masters",))
CONTROLLERS = Writer("kube-controller-manager")


class Admission(Protocol):
    """What may still refuse or alter an object when its writer is allowed to write it."""

    def creating(self, kind: Kind, obj: Obj, *, dry: bool) -> None: ...

    def changing(self, kind: Kind, before: Obj, after: Obj) -> None: ...


@dataclass(frozen=True)
class Request:
    """Who writes, under which name, and whether it is only to be tried. `strict` refuses fields that do not exist."""

    user: User = CONTROLLER
    writer: Writer = CONTROLLERS
    dry: bool = False
    strict: bool = False


class Registry:
    """All writes go through here, also those of the controllers."""

    def __init__(self, store: Store, clock: Clock, admission: Admission) -> None:
        self.store, self._clock, self._admission = store, clock, admission

    def get(self, kind: Kind, namespace: str, name: str) -> Obj:
        found = self.store.get(kind, namespace, name)
        if found is None:
            raise errors.not_found(kind, name)
        return found

    def create(self, kind: Kind, namespace: str, given: Obj, request: Request = Request()) -> Obj:
        """A new object. Raises `Refused`: 400, 403, 404 without its namespace, 409 when the name is taken, 422."""
        obj = _decoded(kind, namespace, given, request)
        meta = obj["metadata"]
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = metadata.generated(meta["generateName"])
        for mine in ("uid", "resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
            meta.pop(mine, None)
        if kind.status:
            obj.pop("status", None)
            obj |= {} if kind.extension else {"status": {}}
        obj = defaults.filled(kind.kind, obj)
        self._admission.creating(kind, obj, dry=request.dry)
        meta = obj["metadata"]
        if self.store.get(kind, meta.get("namespace", ""), meta.get("name", "")):
            raise errors.already_exists(kind, meta["name"])
        meta |= {"uid": str(uuid.uuid4()), "creationTimestamp": self._clock.stamp()}
        if kind.counts_generations:
            meta["generation"] = 1
        if kind.kind == "Job":
            defaults.job(obj)
        self._check(kind, obj)
        if request.writer.operation == APPLY:
            obj = managed.applied(kind, obj, _config(given), request.writer, self._clock.stamp(), force=True)
            obj = defaults.filled(kind.kind, obj)
        else:
            obj = managed.after_update(kind, None, obj, request.writer, self._clock.stamp())
        return obj if request.dry else self.store.put(kind, obj)

    def replace(self, kind: Kind, namespace: str, name: str, given: Obj, request: Request = Request()) -> Obj:
        """The object as it is given. Raises `Refused`, 409 when it names another version or uid."""
        before = self.get(kind, namespace, name)
        after = _decoded(kind, namespace, given, request)
        uid = before["metadata"]["uid"]
        if after["metadata"].get("uid") not in (None, "", uid):
            raise errors.another_uid(kind, name, after["metadata"]["uid"], uid)
        return self._update(kind, before, after, request)

    def patch(
        self, kind: Kind, namespace: str, name: str, change: Any, request: Request = Request(), how: str = MERGE
    ) -> Obj:
        """A patch of one of the ways of `patches`; a merge patch unless said otherwise."""
        before = self.get(kind, namespace, name)
        return self._update(kind, before, _decoded(kind, namespace, patched(before, change, how), request), request)

    def apply(
        self, kind: Kind, namespace: str, name: str, wish: Obj, request: Request, *, force: bool
    ) -> tuple[Obj, bool]:
        """Server-side apply; the object, and whether it is new."""
        wish = _decoded(kind, namespace, wish | {"metadata": {"name": name} | wish.get("metadata", {})}, request)
        if wish["metadata"]["name"] != name:
            raise errors.bad_request(
                f"the name of the object ({wish['metadata']['name']}) does not match the name on the URL ({name})"
            )
        if wish["metadata"].get("managedFields"):
            raise errors.bad_request("metadata.managedFields must be nil")
        live = self.store.get(kind, namespace, name)
        if live is None:
            if wish["metadata"].get("uid"):
                raise errors.conflict(kind, name, f"uid mismatch: the provided object specified uid "
                                      f"{wish['metadata']['uid']}, and no existing object was found")  # fmt: skip
            return self.create(kind, namespace, wish, request), True
        after = managed.applied(kind, live, _config(wish), request.writer, self._clock.stamp(), force=force)
        after["metadata"] |= {one: wish["metadata"][one] for one in ("uid",) if wish["metadata"].get(one)}
        after["metadata"].pop("resourceVersion", None)
        if wish["metadata"].get("resourceVersion"):
            after["metadata"]["resourceVersion"] = wish["metadata"]["resourceVersion"]
        return self._update(kind, live, after, request, own_fields=False), False

    def change(
        self,
        kind: Kind,
        obj: Obj,
        how: Callable[[Obj], None],
        *,
        manager: str = "kube-controller-manager",
        sub: str = "",
    ) -> Obj | None:
        """A controller's change of what exists now under that uid; nothing when it is gone."""
        before = self.store.get(kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        if before is None or before["metadata"]["uid"] != obj["metadata"]["uid"]:
            return None
        after = copy.deepcopy(before)
        how(after)
        return self._update(kind, before, after, Request(writer=Writer(manager, subresource=sub)))

    def delete(self, kind: Kind, namespace: str, name: str, options: Obj | None = None, *, dry: bool = False) -> Obj:
        """Begin to delete, or delete. The object as it is then; without `deletionTimestamp` it is gone."""
        options = options or {}
        obj = self.get(kind, namespace, name)
        wanted = options.get("preconditions") or {}
        uid, version = obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]
        if wanted.get("uid") not in (None, uid):
            raise errors.another_uid(kind, name, wanted["uid"], uid)
        if wanted.get("resourceVersion") not in (None, version):
            why = f"Precondition failed: ResourceVersion in precondition: {wanted['resourceVersion']}, ResourceVersion"
            raise errors.conflict(kind, name, f"{why} in object meta: {version}")
        return obj if dry else self._deleted(kind, obj, options)

    def _deleted(self, kind: Kind, obj: Obj, options: Obj) -> Obj:
        after = copy.deepcopy(obj)
        meta = after["metadata"]
        finalizers = meta.setdefault("finalizers", [])
        also = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(options.get("propagationPolicy") or "")
        if also and also not in finalizers:
            finalizers.append(also)
        grace = _grace(kind, obj, options)
        stays = finalizers or grace or (kind.kind == "Namespace" and obj["spec"].get("finalizers"))
        if not stays:
            self.store.drop(kind, obj)
            return obj
        if "deletionTimestamp" not in meta or grace < meta.get("deletionGracePeriodSeconds", 0):
            meta["deletionTimestamp"] = stamp(self._clock.now() + timedelta(seconds=grace))
            if kind.kind != "Namespace":
                meta["deletionGracePeriodSeconds"] = grace
        if kind.kind == "Namespace":
            after["status"] = after.get("status", {}) | {"phase": "Terminating"}
        if not finalizers:
            del meta["finalizers"]
        return obj if after == obj else self.store.put(kind, after)

    def _update(self, kind: Kind, before: Obj, after: Obj, request: Request, *, own_fields: bool = True) -> Obj:
        name, old, new = before["metadata"]["name"], before["metadata"], after["metadata"]
        if new.get("uid") not in (None, "", old["uid"]):
            raise errors.invalid(kind, name, [errors.wrong("metadata.uid", new["uid"], "field is immutable")])
        if new.get("resourceVersion") not in (None, "", old["resourceVersion"]):
            raise errors.modified(kind, name)
        for key in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
            new.pop(key, None)
            new |= {key: old[key]} if key in old else {}
        new["resourceVersion"] = old["resourceVersion"]
        after = self._halved(kind, before, after, request.writer)
        if not request.writer.subresource:
            after = defaults.filled(kind.kind, after)
            self._check_change(kind, before, after, request)
        if own_fields:
            after["metadata"]["managedFields"] = old.get("managedFields", [])
            after = managed.after_update(kind, before, after, request.writer, self._clock.stamp())
        if kind.counts_generations and after.get("spec") != before.get("spec"):
            after["metadata"]["generation"] = old.get("generation", 1) + 1
        if request.dry or _same(before, after):
            return before if _same(before, after) else after
        if _finished(kind, after):
            self.store.drop(kind, before)
            return after
        return self.store.put(kind, after)

    def _halved(self, kind: Kind, before: Obj, after: Obj, writer: Writer) -> Obj:
        """Who writes the status changes nothing else, and the other way round."""
        if not kind.status:
            return after
        if writer.subresource == "status":
            whole = {**before, "metadata": dict(before["metadata"])}
            whole["metadata"]["managedFields"] = after["metadata"].get("managedFields", [])
            return whole | ({"status": after["status"]} if "status" in after else {})
        if writer.subresource == "finalize":
            return before | {"spec": before["spec"] | {"finalizers": after["spec"].get("finalizers", [])}}
        if writer.subresource == "binding":
            return before | {"spec": before["spec"] | {"nodeName": after["spec"]["nodeName"]}}
        rest = {key: value for key, value in after.items() if key != "status"}
        return rest | ({"status": copy.deepcopy(before["status"])} if "status" in before else {})

    def _check_change(self, kind: Kind, before: Obj, after: Obj, request: Request) -> None:
        self._admission.changing(kind, before, after)
        added = set(after["metadata"].get("finalizers") or ()) - set(before["metadata"].get("finalizers") or ())
        if "deletionTimestamp" in before["metadata"] and added:
            why = "no new finalizers can be added if the object is being deleted, found new finalizers []string{"
            told = ", ".join(f'"{one}"' for one in sorted(added))
            cause = errors.prohibited("metadata.finalizers", f"{why}{told}}}")
            raise errors.invalid(kind, before["metadata"]["name"], [cause])
        causes = [*validation.checked(kind, after), *validation.unchanged(kind, before, after)]
        if causes:
            raise errors.invalid(kind, before["metadata"]["name"], causes)

    def _check(self, kind: Kind, obj: Obj) -> None:
        causes = validation.checked(kind, obj)
        if causes:
            raise errors.invalid(kind, obj["metadata"].get("name", ""), causes)


def _decoded(kind: Kind, namespace: str, given: Obj, request: Request) -> Obj:
    return decoded(kind, namespace, given, applied=request.writer.operation == APPLY, strict=request.strict)


def _config(wish: Obj) -> Obj:
    drop = ("uid", "resourceVersion", "managedFields", "creationTimestamp", "generation")
    meta = {key: value for key, value in wish["metadata"].items() if key not in drop}
    return wish | {"metadata": meta}


def _grace(kind: Kind, obj: Obj, options: Obj) -> int:
    """Seconds that a pod on a node has to end in; nothing else waits."""
    if kind.kind != "Pod":
        return 0
    running = obj["spec"].get("nodeName") and obj.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    wanted = options.get("gracePeriodSeconds")
    return int(obj["spec"]["terminationGracePeriodSeconds"] if wanted is None else wanted) if running else 0


def _finished(of: Kind, obj: Obj) -> bool:
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    return of != kind("Namespace") or not obj["spec"].get("finalizers")


def _same(before: Obj, after: Obj) -> bool:
    return json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
