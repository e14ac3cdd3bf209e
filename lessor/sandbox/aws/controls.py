"""The switches: what a test or the sandbox page can make the simulated AWS do, and what it can ask about it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from lessor.sandbox.aws import inventory
from lessor.sandbox.aws.cloud import SimulatedCloud, throttled
from lessor.sandbox.aws.ec2.lifecycle import LaunchFailure
from lessor.sandbox.aws.events import Events
from lessor.sandbox.aws.faults import Fault
from lessor.sandbox.aws.inventory import Resource
from lessor.sandbox.aws.journal import JournalEntry
from lessor.sandbox.aws.policy import PolicyDocument
from lessor.sandbox.aws.state import Hiding, PlannedLaunchFailure


class Controls(Events):
    """Every switch takes effect with the next call. Patterns are shell patterns (`p5.*`, `us-east-1?`, `Describe*`)."""

    def __init__(self, cloud: SimulatedCloud) -> None:
        super().__init__(cloud)

    # -- what AWS has and grants --

    def refuse_capacity(self, instance_type: str = "*", zone: str = "*", market: str = "*", name: str = "") -> None:
        """InsufficientInstanceCapacity for launches and starts of these types there."""
        self.limit_capacity(0, instance_type=instance_type, zone=zone, market=market, name=name)

    def limit_capacity(
        self, free: int, instance_type: str = "*", zone: str = "*", market: str = "*", name: str = ""
    ) -> None:
        """Only `free` more machines: a launch with a smaller minimum gets what is left (partial fulfilment).

        Limits of different names stand side by side; the tightest holds.
        """
        with self._cloud.lock:
            self._state.capacity.limit(free, instance_type=instance_type, zone=zone, market=market, name=name)

    def restore_capacity(
        self, instance_type: str = "*", zone: str = "*", market: str = "*", name: str | None = None
    ) -> None:
        """Without arguments every limit goes; with a name only the one of that name with exactly these patterns."""
        with self._cloud.lock:
            self._state.capacity.unlimit(instance_type=instance_type, zone=zone, market=market, name=name)

    def refuse_type(self, instance_type: str, zone: str = "*") -> None:
        """The zone does not offer the type: absent from the offerings, `Unsupported` at launch."""
        with self._cloud.lock:
            self._state.capacity.refuse_type(instance_type, zone)

    def allow_type(self, instance_type: str, zone: str = "*") -> None:
        with self._cloud.lock:
            self._state.capacity.allow_type(instance_type, zone)

    def set_quota(self, code: str, value: float, account: str = "*", region: str = "*") -> None:
        """The vCPU quota `code` (`L-417A185B` is on-demand P); launches beyond it end in VcpuLimitExceeded."""
        with self._cloud.lock:
            self._state.quotas.set(code, value, account=account, region=region)

    def limit_spot_instances(self, count: int | None) -> None:
        """MaxSpotInstanceCountExceeded beyond `count` living spot instances; None lifts it."""
        with self._cloud.lock:
            self._state.spot_count_limit = count

    def set_price(self, instance_type: str, us_east_1: str) -> None:
        with self._cloud.lock:
            self._state.prices.set_on_demand(instance_type, Decimal(us_east_1))

    def remove_price(self, instance_type: str) -> None:
        """The price list has no product for the type."""
        with self._cloud.lock:
            self._state.prices.without.add(instance_type)

    def make_pricing_unreachable(self, on: bool = True) -> None:
        with self._cloud.lock:
            self._state.prices.unreachable = on

    # -- what goes wrong on the way --

    def throttle(self, action: str = "*", times: int = 1) -> None:
        """RequestLimitExceeded for the next `times` calls."""
        self._plan(throttled(times, action))

    def throttle_like_aws(self, on: bool = True) -> None:
        """EC2's real token buckets."""
        with self._cloud.lock:
            self._state.throttling = "real" if on else "off"

    def fail(
        self, action: str, code: str, message: str = "Simulated failure", status: int = 400, times: int | None = 1
    ) -> None:
        """Answer with this error and do nothing; `times` None means until faults are cleared."""
        self._plan(Fault("error", action, times, code, message, status))

    def lose_requests(self, action: str, times: int | None = 1) -> None:
        """The connection breaks before AWS has done anything."""
        self._plan(Fault("lose-request", action, times))

    def lose_answers(self, action: str, times: int | None = 1) -> None:
        """AWS does it, the connection breaks, the caller never hears of it."""
        self._plan(Fault("lose-answer", action, times))

    def fail_after_effect(
        self, action: str, code: str = "InternalError", status: int = 500, times: int | None = 1
    ) -> None:
        """AWS does it and answers with an error nevertheless."""
        self._plan(Fault("error-after-effect", action, times, code, "An internal error has occurred", status))

    def slow_down(self, action: str, seconds: float, times: int | None = 1) -> None:
        """The effect comes at once, the answer `seconds` later."""
        self._plan(Fault("slow", action, times, seconds=seconds))

    def expire_requests(self, on: bool = True) -> None:
        """The caller's clock is wrong: RequestExpired for everything."""
        with self._cloud.lock:
            self._state.clock_skew = on

    def clear_faults(self, action: str | None = None, kind: str | None = None, code: str | None = None) -> None:
        """Take out the faults for which all that is given fits; without arguments all of them."""
        with self._cloud.lock:
            self._state.faults.clear(
                lambda fault: (
                    action in (None, fault.action) and kind in (None, fault.kind) and code in (None, fault.code)
                )
            )

    # -- how long things take, how lists come --

    def set_delays(
        self,
        pending: float | None = None,
        stopping: float | None = None,
        shutting_down: float | None = None,
        terminated_visible: float | None = None,
        replacement: float | None = None,
    ) -> None:
        """Seconds between states; what is None stays as it is."""
        with self._cloud.lock:
            delays = self._state.fleet.delays
            delays.pending = delays.pending if pending is None else pending
            delays.stopping = delays.stopping if stopping is None else stopping
            delays.shutting_down = delays.shutting_down if shutting_down is None else shutting_down
            delays.terminated_visible = delays.terminated_visible if terminated_visible is None else terminated_visible
            delays.replacement = delays.replacement if replacement is None else replacement

    def hide_new_instances(self, seconds: float = 0.0, reads: int = 0) -> None:
        """New instances are unknown for a while and for a number of look-ups: NotFound, absent from lists."""
        with self._cloud.lock:
            self._state.hiding = Hiding(seconds, reads)

    def fail_launches(
        self,
        code: str = "Client.VolumeLimitExceeded",
        message: str = "Volume limit exceeded",
        instance_type: str = "*",
        times: int = 1,
    ) -> None:
        """Launches are accepted and go from pending to terminated with this state reason."""
        failure = LaunchFailure(code, f"{code}: {message}")
        with self._cloud.lock:
            self._state.launch_failures.append(PlannedLaunchFailure(failure, instance_type, times))

    def slow_snapshots(self, seconds: float = 0.0, failures: int = 0) -> None:
        """Snapshots stay pending for a while; the next `failures` of them end in `error`."""
        with self._cloud.lock:
            self._state.snapshots.seconds, self._state.snapshots.failures = seconds, failures

    def plan_pages(self, action: str, sizes: list[int]) -> None:
        """Page sizes of a describe action in order, 0 for an empty page with a next token."""
        with self._cloud.lock:
            self._state.pages.sizes[action] = list(sizes)

    def accept_any_tag_character(self, on: bool = True) -> None:
        """Bare EC2 accepts any character in tags; the default is the set that all AWS services share."""
        with self._cloud.lock:
            self._state.strict_tag_characters = not on

    # -- who may do what --

    def enforce_iam(self, on: bool = True, policies: list[str] | None = None) -> None:
        """Check lessor's policy (`deploy/aws` as shipped, or these files) on every call."""
        with self._cloud.lock:
            self._state.identities.enforced = on
            if policies:
                self._state.identities.use_policy(*[Path(path) for path in policies])

    def deny(self, action: str, resource: str = "*") -> None:
        """An explicit deny on top of lessor's policies (`ec2:RunInstances`): UnauthorizedOperation."""
        statement = {"Effect": "Deny", "Action": action, "Resource": resource}
        with self._cloud.lock:
            self._state.identities.guard_rails.append(PolicyDocument({"Statement": [statement]}, "deny"))

    def allow_again(self) -> None:
        """Take back every `deny`."""
        with self._cloud.lock:
            self._state.identities.guard_rails.clear()

    def add_account(self, account: str, external_id: str, role_name: str = "lessor") -> str:
        """A further account set up as `deploy/aws` says; returns the ARN of the role to assume."""
        with self._cloud.lock:
            self._cloud.prepare_account(account)
            return self._state.identities.add_account(account, external_id, role_name).arn

    # -- questions --

    def calls(self, action: str, error: str | None = None) -> int:
        """How often `action` was called; with `error`, how often it ended so (`""`: without error)."""
        with self._cloud.lock:
            return self._state.journal.count(action, error)

    def journal(self, action: str | None = None, last: int | None = None) -> list[JournalEntry]:
        with self._cloud.lock:
            return self._state.journal.entries(action, last)

    def leftovers(self, lease: str | None = None) -> list[Resource]:
        """Everything that still exists, of one lease by its tag or of everybody."""
        with self._cloud.lock:
            self._state.settle()
            return inventory.leftovers(self._state, lease)

    def instances(self, lease: str | None = None, state: str | None = None) -> list[dict[str, Any]]:
        """All instances that are remembered (launch history), narrowed by lease tag and by state."""
        with self._cloud.lock:
            self._state.settle()
            listed = inventory.describe_instances(self._state)
        return [
            i for i in listed if lease in (None, i["tags"].get(inventory.LEASE_TAG)) and state in (None, i["state"])
        ]

    def snapshot(self) -> dict[str, Any]:
        """Everything the page shows, as JSON."""
        with self._cloud.lock:
            self._state.settle()
            state = self._state
            return {
                "now": state.clock.now().isoformat(),
                "instances": inventory.describe_instances(state),
                "leftovers": [resource.to_json() for resource in inventory.leftovers(state)],
                "calls": [entry.to_json() for entry in state.journal.entries(last=60)][::-1],
                "counts": state.journal.counts(),
                "switches": self._switches(),
            }

    def _switches(self) -> dict[str, Any]:
        state = self._state
        return {
            "capacity": state.capacity.to_json(),
            "faults": [fault.to_json() for fault in state.faults],
            "throttling": state.throttling,
            "delays": vars(state.fleet.delays),
            "hiding": vars(state.hiding),
            "launch_failures": [vars(p) | {"failure": vars(p.failure)} for p in state.launch_failures if p.times > 0],
            "clock_skew": state.clock_skew,
            "pricing_unreachable": state.prices.unreachable,
            "without_price": sorted(state.prices.without),
            "spot_count_limit": state.spot_count_limit,
            "iam_enforced": state.identities.enforced,
            "denied": [rail.summary() for rail in state.identities.guard_rails],
            "quotas": state.quotas.changes(),
            "pages": state.pages.sizes,
        }

    def _plan(self, fault: Fault) -> None:
        with self._cloud.lock:
            self._state.faults.add(fault)
