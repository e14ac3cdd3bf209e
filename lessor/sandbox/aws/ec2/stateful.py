"""Start, stop and terminate as EC2 allows them, and what follows for spot requests."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult

from lessor.sandbox.aws.ec2.launching import LaunchActions
from lessor.sandbox.aws.ec2.lifecycle import InstanceRecord
from lessor.sandbox.aws.ec2.machines import STATE_CODES
from lessor.sandbox.aws.ec2.refusals import no_capacity, vcpu_limit_exceeded
from lessor.sandbox.aws.errors import AwsError
from lessor.sandbox.aws.instance_types import vcpus
from lessor.sandbox.aws.quotas import quota_code


class LifecycleActions(LaunchActions):
    """The three verbs. Each checks all instances before it changes one."""

    def start_instances(self) -> ActionResult:
        records = self._named_records()
        self.error_on_dryrun()
        for record in records:
            if record.state in ("shutting-down", "terminated", "stopping"):
                raise _wrong_state(record, "started")
        stopped = [record for record in records if record.state == "stopped"]
        self._check_room(stopped)
        before = _states(records)
        for record in stopped:
            self.state.fleet.start(record)
            self._note_spot(record, "active", "fulfilled", "Your spot request is fulfilled.")
        return ActionResult({"StartingInstances": _changes(records, before)})

    def stop_instances(self) -> ActionResult:
        records = self._named_records()
        self.error_on_dryrun()
        for record in records:
            if record.spot_request and record.spot_request.type == "one-time":
                raise AwsError(
                    "UnsupportedOperation",
                    f"You can't stop the Spot Instance '{record.instance.id}' because it is associated with a one-time "
                    "Spot Instance request. You can only stop Spot Instances associated with persistent Spot Instance "
                    "requests.",
                )
            if record.state in ("pending", "shutting-down", "terminated"):
                raise _wrong_state(record, "stopped")
        before = _states(records)
        for record in records:
            if record.state == "running":
                self.state.fleet.stop(record)
                self._note_spot(
                    record, "disabled", "instance-stopped-by-user", "Your Spot Instance was stopped by you."
                )
        return ActionResult({"StoppingInstances": _changes(records, before)})

    def terminate_instances(self) -> ActionResult:
        records = self._named_records()
        self.error_on_dryrun()
        protected = [record for record in records if record.instance.disable_api_termination]
        zones = {record.instance.availability_zone for record in protected}
        before = _states(records)
        for record in records:
            # EC2 spares the whole zone of a protected instance and ends the others before it answers with the error.
            if record.instance.availability_zone not in zones:
                self.state.fleet.terminate(record)
                self._note_spot_end(record)
        if protected:
            raise AwsError(
                "OperationNotPermitted",
                f"The instance '{protected[0].instance.id}' may not be terminated. Modify its "
                "'disableApiTermination' instance attribute and try again.",
            )
        return ActionResult({"TerminatingInstances": _changes(records, before)})

    def _named_records(self) -> list[InstanceRecord]:
        instance_ids = self._get_param("InstanceIds", [])
        if not instance_ids:
            raise AwsError("MissingParameter", "The request must contain the parameter InstanceIds")
        records = self.records(instance_ids)
        return records

    def _check_room(self, records: list[InstanceRecord]) -> None:
        for record in records:
            kind, zone = record.instance.instance_type, str(record.instance.availability_zone)
            free = self.state.capacity.free(kind, zone, record.market)
            if free is not None and free < 1:
                raise no_capacity(kind, record.market, zone, [])
            code = quota_code(kind, "spot" if record.market == "spot" else "on-demand")
            limit = int(self.state.quotas.value(code, self.current_account, self.region))
            if self.vcpus_in_use(code) + vcpus(kind) > limit:
                raise vcpu_limit_exceeded(limit)

    def _note_spot_end(self, record: InstanceRecord) -> None:
        """A persistent request that nobody cancelled opens again, and will be served with a new machine."""
        persistent = record.spot_request is not None and record.spot_request.type == "persistent"
        state = "open" if persistent else "closed"
        self._note_spot(record, state, "instance-terminated-by-user", "Your Spot Instance was terminated by you.")

    def _note_spot(self, record: InstanceRecord, state: str, status: str, message: str) -> None:
        if record.spot_request and record.spot_request.state in ("active", "open", "disabled"):
            record.spot_request.enter(state, status, message, self.state.clock.now())


def _states(records: list[InstanceRecord]) -> dict[str, str]:
    return {record.instance.id: record.state for record in records}


def _changes(records: list[InstanceRecord], before: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {"InstanceId": r.instance.id, "CurrentState": _state(r.state), "PreviousState": _state(before[r.instance.id])}
        for r in records
    ]


def _state(name: str) -> dict[str, Any]:
    return {"Name": name, "Code": STATE_CODES[name]}


def _wrong_state(record: InstanceRecord, verb: str) -> AwsError:
    return AwsError(
        "IncorrectInstanceState", f"The instance '{record.instance.id}' is not in a state from which it can be {verb}."
    )
