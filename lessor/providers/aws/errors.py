"""What AWS and its client library say, sorted into: try again, no capacity, never. Vendor exceptions end here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.parsers import ResponseParserError

from lessor.ports import NoCapacityError, PermanentError, ProviderError, RetryableError

CAPACITY = frozenset(
    {
        "InsufficientCapacity",
        "InsufficientFreeAddressesInSubnet",
        "InsufficientHostCapacity",
        "InsufficientInstanceCapacity",
        "InsufficientReservedInstanceCapacity",
        "InsufficientVolumeCapacity",
        "SpotMaxPriceTooLow",
        "UnfulfillableCapacity",
        "Unsupported",
    }
)
"""This type cannot be had in this zone and market now; another candidate may be. `Unsupported` is per zone (C26)."""

QUOTA = frozenset({"InstanceLimitExceeded", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded"})
"""The account's own limit on machines, which waiting does not heal (C12)."""

AGAIN = frozenset(
    {
        "BandwidthLimitExceeded",
        "DependencyViolation",
        "EC2ThrottledException",
        "IncorrectInstanceState",
        "IncorrectState",
        "InternalError",
        "InternalFailure",
        "InternalServerError",
        "InvalidIPAddress.InUse",
        "InvalidNetworkInterface.InUse",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServerInternal",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottledException",
        "ThrottlingException",
        "TooManyRequestsException",
        "Unavailable",
        "VolumeInUse",
    }
)

CLOCK = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidSignatureException",
        "RequestExpired",
        "RequestInTheFuture",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)
"""The signature's time or the credentials' are over: about lessor's own process, never about the machine (C33)."""

IDENTITY = frozenset({"AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException", "UnrecognizedClient"})
ACCESS = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "OptInRequired", "Blocked"})

MISSING = frozenset(
    {
        "InvalidAllocationID.NotFound",
        "InvalidAssociationID.NotFound",
        "InvalidInstanceID.NotFound",
        "InvalidNetworkInterfaceID.NotFound",
        "InvalidSnapshot.NotFound",
        "InvalidSpotInstanceRequestID.NotFound",
        "InvalidVolume.NotFound",
    }
)
"""Not there, or not there yet: which of the two is for a later look to tell (C07, C08)."""


@contextmanager
def sorted_errors(doing: str, tried: str = "") -> Iterator[None]:
    """Turn vendor exceptions of the block into `ProviderError`s. `doing` reads like `launching p5.48xlarge`.

    `tried` names the candidate, for refusals by capacity.
    """
    try:
        yield
    except ClientError as error:
        raise _from_answer(error, doing, tried) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise PermanentError(
            f"there are no AWS credentials for {doing}: {_ended(error)} Nothing was changed; give the process "
            "credentials (AWS_PROFILE, AWS_ACCESS_KEY_ID or an instance role) and try again",
            type(error).__name__,
        ) from error
    except (NoConnectionError, HTTPClientError, CredentialRetrievalError, ResponseParserError) as error:
        raise RetryableError(
            f"AWS could not be reached or gave no answer while {doing}: {error} It may have happened or not; "
            "that is looked up before it is tried again",
            type(error).__name__,
        ) from error
    except BotoCoreError as error:
        raise PermanentError(
            f"{doing} was refused before it was sent: {_ended(error)} Nothing was changed; check the place "
            "in lessor.yaml",
            type(error).__name__,
        ) from error


def quota_exceeded(error: PermanentError, region: str, what: str, vcpus: int, quota: int | None) -> PermanentError:
    """The refusal for the account's own limit, with what is needed and what there is (case C12)."""
    limit = f"{quota} vCPUs" if quota is not None else "not readable"
    return PermanentError(
        f"the AWS account's limit in {region} does not allow {what}: it needs {vcpus} vCPUs, the quota is {limit} "
        "for all running machines of this family together. Nothing was created; ask an administrator to raise "
        "the quota in Service Quotas, or choose something smaller or another region",
        error.code,
    )


def _from_answer(error: ClientError, doing: str, tried: str) -> ProviderError:
    code = str(error.response.get("Error", {}).get("Code", ""))
    said = str(error.response.get("Error", {}).get("Message", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in CAPACITY:
        return NoCapacityError(f"no capacity for {tried or doing} now ({code}): {said}", (tried or doing,), code)
    if code in CLOCK:
        return RetryableError(_clock(doing, code), code)
    if code in MISSING:
        return RetryableError(
            f"EC2 does not know of it while {doing} ({code}): {_ended(said)} It is looked for again", code
        )
    if code in AGAIN or "throttl" in code.lower() or status >= 500 or status == 429:
        return RetryableError(
            f"AWS asked to come back later while {doing} ({code}): {_ended(said)} Nothing is concluded from that; "
            "it is tried again",
            code,
        )
    return PermanentError(_permanent(doing, code, said), code)


def _clock(doing: str, code: str) -> str:
    return (
        f"AWS did not accept the time or the credentials of lessor's own process while {doing} ({code}). "
        "This says nothing about the machines, which are as they were; check the clock (NTP) and the credentials "
        "of the host that lessor runs on. It is tried again"
    )


def _permanent(doing: str, code: str, said: str) -> str:
    if code in IDENTITY:
        return (
            f"AWS does not know the credentials that lessor used for {doing} ({code}). Nothing was changed; "
            "give the process valid credentials and try again"
        )
    if code in ACCESS:
        return (
            f"lessor is not allowed to do this in AWS: {doing} ({code}): {_ended(_without_encoded(said))} Nothing was "
            "changed; an administrator has to give lessor's role the policy in deploy/aws"
        )
    return f"AWS refused {doing} ({code}): {_ended(said)} Nothing was changed; asking again would be refused again"


def _ended(said: object) -> str:
    """What AWS said as a whole sentence; not all of its own have an end."""
    return f"{str(said).rstrip(' .')}."


def _without_encoded(said: str) -> str:
    """The message without AWS's encoded part, which is long and which nobody can read."""
    return said.partition("Encoded authorization failure message")[0].strip()
