"""The simulated AWS as one object: a call goes in, an answer and the way it is delivered come out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from moto.core.base_backend import BackendDict
from moto.ec2.models import ec2_backends
from moto.iam.models import iam_backends
from moto.moto_api._internal.models import moto_api_backend

from lessor.sandbox.aws import answers, images, services
from lessor.sandbox.aws.call import ApiCall
from lessor.sandbox.aws.ec2 import machines
from lessor.sandbox.aws.ec2.api import SimulatedEc2
from lessor.sandbox.aws.ec2.authorization import authorize
from lessor.sandbox.aws.errors import Answer, AwsError, render_error
from lessor.sandbox.aws.faults import Fault, FaultKind
from lessor.sandbox.aws.identity import HOME_ACCOUNT, Caller
from lessor.sandbox.aws.instance_types import repair_instance_types
from lessor.sandbox.aws.journal import Delivered, JournalEntry
from lessor.sandbox.aws.state import CloudState
from lessor.sandbox.aws.throttle import request_limit_exceeded

_log = logging.getLogger(__name__)
INSTANCE_PROFILE = "lessor-instance"
_SHOWN_PARAMETERS = ("InstanceType", "Placement.AvailabilityZone", "ClientToken", "RoleArn", "NextToken", "MaxResults")
_READING = ("Describe", "Get", "List")
_NARROWING = ("Filter", "MaxResults", "NextToken", "Id.", "Ids.")


@dataclass(frozen=True)
class Delivery:
    """How the answer reaches the caller: after `delay` seconds, or not at all when `answer` is None."""

    answer: Answer | None
    delay: float = 0.0


class SimulatedCloud:
    """One simulated AWS. Calls are handled one at a time under `lock`, which the switches take as well.

    moto keeps its state in module globals, so there can be only one of these in a process.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.on_change: Callable[[], None] = lambda: None
        machines.install()
        images.install()
        answers.install()
        repair_instance_types()
        self.state = CloudState()
        self.reset()

    def reset(self) -> None:
        """An empty AWS with all switches off."""
        with self.lock:
            used: Any = BackendDict
            for backends in used._instances:
                backends.clear()
            moto_api_backend.reset()
            self.state = CloudState()
            self.prepare_account(HOME_ACCOUNT)

    def resume(self, state: CloudState, backends: dict[tuple[str, str], Any]) -> None:
        """Go on with what an earlier run had; policies are read anew, since they may have been improved."""
        with self.lock:
            self.reset()
            for (account, region), backend in backends.items():
                regions: Any = ec2_backends[account]
                regions[region] = backend
            self.state = state
            state.identities.read_policies_again()
            for account in state.identities.accounts() - {HOME_ACCOUNT}:
                self.prepare_account(account)

    def prepare_account(self, account: str) -> None:
        """Give the account the instance profile that `deploy/aws` describes."""
        iam: Any = iam_backends[account]["aws"]
        iam.create_instance_profile(name=INSTANCE_PROFILE, path="/", role_names=[], tags=[])

    def answer(self, call: ApiCall) -> Delivery:
        with self.lock:
            self.state.settle()
            caller = self.state.identities.caller(call.access_key)
            entry = self._open(call, caller)
            delivery, code = self._answer(call, caller)
            lost: Delivered = "answer-lost" if code is not None else "request-lost"
            self.state.journal.close(entry, code or "", "answered" if delivery.answer else lost)
            if not call.action.startswith(_READING):
                self.on_change()
            return delivery

    def _answer(self, call: ApiCall, caller: Caller) -> tuple[Delivery, str | None]:
        """The delivery and the error code of what happened; None when nothing happened."""

        def planned(kind: FaultKind) -> Fault | None:
            return self.state.faults.take(lambda one: one.kind == kind and one.matches(call.action, call.region))

        slow = planned("slow")
        delay = slow.seconds if slow else 0.0
        if planned("lose-request"):
            return Delivery(None, delay), None
        refusal = planned("error")
        answer = _as_answer(call, refusal) if refusal else self._effect(call, caller)
        if planned("lose-answer"):
            return Delivery(None, delay), answer.error_code
        late = planned("error-after-effect")
        return Delivery(_as_answer(call, late) if late else answer, delay), late.code if late else answer.error_code

    def _effect(self, call: ApiCall, caller: Caller) -> Answer:
        try:
            self._admit(call, caller)
            if call.service == "ec2":
                return SimulatedEc2(self.state, caller, authorize).answer(call)
            return services.answer(call, caller, self.state)
        except AwsError as error:
            return render_error(call.service, error)
        except Exception:
            # A gap in the simulator must look like AWS's own fault to the caller and be seen by whoever runs it.
            _log.exception("the simulated AWS failed at %s", call.action)
            return render_error(call.service, AwsError("InternalError", "The simulated AWS failed; see its log.", 500))

    def _admit(self, call: ApiCall, caller: Caller) -> None:
        if self.state.clock_skew:
            raise request_expired(call.service)
        if call.service == "ec2" and self.state.throttling == "real":
            filtered = any(mark in name for name in call.parameters for mark in _NARROWING)
            self.state.throttle.admit(
                caller.account,
                call.region,
                call.action,
                filtered=filtered,
                resources=_resource_tokens(call),
                now=self.state.clock.now(),
            )

    def _open(self, call: ApiCall, caller: Caller) -> JournalEntry:
        return self.state.journal.open(
            at=self.state.clock.now(),
            service=call.service,
            action=call.action,
            region=call.region,
            account=caller.account,
            principal=caller.arn.split(":", 5)[-1],
            summary=_summary(call),
        )


def request_expired(service: str) -> AwsError:
    """What a signature with a wrong time gets: `RequestExpired` from EC2, `ExpiredTokenException` style from others."""
    if service == "ec2":
        return AwsError("RequestExpired", "Request has expired.")
    return AwsError(
        "InvalidSignatureException", "Signature expired: the time of the request is too far from the server's.", 403
    )


def throttled(times: int, action: str) -> Fault:
    """A fault that answers `RequestLimitExceeded` a number of times."""
    error = request_limit_exceeded()
    return Fault("error", action, times, error.code, error.message, error.status)


def _as_answer(call: ApiCall, fault: Fault) -> Answer:
    if fault.code == "RequestLimitExceeded" and call.service != "ec2":
        return render_error(call.service, AwsError("ThrottlingException", "Rate exceeded"))
    return render_error(call.service, AwsError(fault.code, fault.message, fault.status))


def _resource_tokens(call: ApiCall) -> int:
    if call.action == "RunInstances":
        return int(call.parameters.get("MaxCount") or 1)
    return sum(1 for name in call.parameters if name.startswith("InstanceId."))


def _summary(call: ApiCall) -> str:
    asked: dict[str, Any] = call.parameters or {k: v for k, v in call.document.items() if isinstance(v, str | int)}
    shown = [f"{name}={asked[name]}" for name in _SHOWN_PARAMETERS if asked.get(name)]
    shown += [
        str(value) for name, value in asked.items() if name.startswith(("InstanceId.", "ResourceId.", "Filter.1."))
    ][:4]
    shown += [
        str(asked[name])
        for name in ("Name", "QuotaCode", "VolumeId", "SnapshotId", "NetworkInterfaceId")
        if asked.get(name)
    ]
    return " ".join(shown)[:200]
