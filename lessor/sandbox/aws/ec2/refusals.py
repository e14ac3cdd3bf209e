"""EC2's own words for the refusals that several actions share."""

from __future__ import annotations

from lessor.sandbox.aws.errors import AwsError


def no_capacity(instance_type: str, market: str, zone: str | None, others: list[str]) -> AwsError:
    """InsufficientInstanceCapacity in the words that EC2 uses for this market and place."""
    if market == "spot":
        return AwsError(
            "InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request.", 500
        )
    if not zone:
        return AwsError(
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient {instance_type} capacity in zones with support for the requested "
            "configuration. Our system will be working on provisioning additional capacity.",
            500,
        )
    advice = f" or choosing {', '.join(others)}" if others else ""
    return AwsError(
        "InsufficientInstanceCapacity",
        f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you requested "
        f"({zone}). Our system will be working on provisioning additional capacity. "
        f"You can currently get {instance_type} capacity by not specifying an Availability Zone in your request"
        f"{advice}.",
        500,
    )


def vcpu_limit_exceeded(limit: int) -> AwsError:
    return AwsError(
        "VcpuLimitExceeded",
        f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance bucket "
        "that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to "
        "request an adjustment to this limit.",
    )


def not_offered(instance_type: str, zone: str | None, offered: list[str]) -> AwsError:
    """Unsupported: no zone of the region has the type, or not the one that was asked for."""
    if not offered:
        return AwsError(
            "Unsupported",
            "The requested configuration is currently not supported. "
            "Please check the documentation for supported configurations.",
        )
    return AwsError(
        "Unsupported",
        f"Your requested instance type ({instance_type}) is not supported in your requested Availability Zone "
        f"({zone}). Please retry your request by not specifying an Availability Zone or choosing {', '.join(offered)}.",
    )


def unknown_instances(instance_ids: list[str]) -> AwsError:
    if len(instance_ids) == 1:
        return AwsError("InvalidInstanceID.NotFound", f"The instance ID '{instance_ids[0]}' does not exist")
    return AwsError("InvalidInstanceID.NotFound", f"The instance IDs '{', '.join(instance_ids)}' do not exist")
