"""Every way in which AWS or the way to it says no, sorted: later, elsewhere, never."""

from __future__ import annotations

from collections.abc import Callable

import boto3
import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from lessor.domain.request import Market, Need
from lessor.ports import NoCapacityError, PermanentError, ProviderError, RetryableError
from lessor.providers.aws.errors import sorted_errors
from tests.providers.aws_world import World, place

URL = "https://ec2.us-east-1.amazonaws.com"


def answer(code: str, status: int = 400, message: str = "Because.") -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "RunInstances",
    )


def sorted_as(error: Exception) -> ProviderError:
    with pytest.raises(ProviderError) as caught, sorted_errors("launching p5.48xlarge", "p5.48xlarge in us-east-1a"):
        raise error
    assert caught.value.__cause__ is error
    return caught.value


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("RequestLimitExceeded", 503),
        ("Throttling", 400),
        ("ThrottlingException", 400),
        ("SomeNewThrottleCode.RateThrottled", 400),
        ("InternalError", 500),
        ("Unavailable", 503),
        ("AnythingAtAll", 500),
        ("AnythingAtAll", 502),
        ("TooManyRequestsException", 429),
        ("IncorrectInstanceState", 400),
        ("VolumeInUse", 400),
        ("InvalidInstanceID.NotFound", 400),
        ("InvalidVolume.NotFound", 400),
        ("RequestExpired", 400),
        ("ExpiredToken", 400),
        ("SignatureDoesNotMatch", 403),
    ],
)
def test_later(code: str, status: int) -> None:
    error = sorted_as(answer(code, status))
    assert (type(error), error.code) == (RetryableError, code)


@pytest.mark.parametrize(
    "code",
    [
        "InsufficientInstanceCapacity",
        "InsufficientHostCapacity",
        "InsufficientReservedInstanceCapacity",
        "InsufficientFreeAddressesInSubnet",
        "SpotMaxPriceTooLow",
        "Unsupported",
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_elsewhere(code: str, status: int) -> None:
    error = sorted_as(answer(code, status))
    assert isinstance(error, NoCapacityError)
    assert (error.code, error.tried) == (code, ("p5.48xlarge in us-east-1a",))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("UnauthorizedOperation", "deploy/aws"),
        ("AccessDeniedException", "deploy/aws"),
        ("AuthFailure", "valid credentials"),
        ("UnrecognizedClientException", "valid credentials"),
        ("InvalidParameterValue", "would be refused again"),
        ("VcpuLimitExceeded", "would be refused again"),
        ("InvalidSubnetID.NotFound", "would be refused again"),
        ("NeverHeardOf", "would be refused again"),
    ],
)
def test_never(code: str, said: str) -> None:
    error = sorted_as(answer(code))
    assert (type(error), error.code) == (PermanentError, code)
    assert "Nothing was changed" in str(error)
    assert said in str(error)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (EndpointConnectionError(endpoint_url=URL), RetryableError),
        (ConnectTimeoutError(endpoint_url=URL), RetryableError),
        (ReadTimeoutError(endpoint_url=URL), RetryableError),
        (ConnectionClosedError(endpoint_url=URL), RetryableError),
        (ResponseParserError("no XML"), RetryableError),
        (NoCredentialsError(), PermanentError),
        (ParamValidationError(report="bad"), PermanentError),
    ],
)
def test_what_never_reached_aws(error: BotoCoreError, kind: type[ProviderError]) -> None:
    assert type(sorted_as(error)) is kind


def test_a_clock_problem_is_told_as_one() -> None:
    said = str(sorted_as(answer("RequestExpired")))
    assert "clock (NTP)" in said
    assert "as they were" in said


def test_what_nobody_can_read_is_left_out() -> None:
    message = "You are not authorized. Encoded authorization failure message: AbC123=="
    assert "AbC123" not in str(sorted_as(answer("UnauthorizedOperation", 403, message)))


def test_other_exceptions_pass() -> None:
    with pytest.raises(KeyError), sorted_errors("looking"):
        raise KeyError("a bug of ours")


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p.offers(Need("A10G"), place(), Market.ON_DEMAND),
        lambda p: p.quote(Need("A10G"), place(), Market.SPOT, p._clock()),
        lambda p: p.conditions(place()),
        lambda p: p.stop("gpu-00000001", place(), str),
        lambda p: p.delete("gpu-00000001", place(), (), str),
        lambda p: p.snapshot("gpu-00000001", place(), str),
        lambda p: p.set_end("gpu-00000001", place(), p._clock()),
        lambda p: p.set_owner("gpu-00000001", place(), "U0SECOND", "vision", ""),
    ],
)
def test_an_unreachable_aws_is_retryable_everywhere(
    world: World, monkeypatch: pytest.MonkeyPatch, call: Callable[[object], object]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    provider = world.provider(session_factory=boto3.Session)
    with pytest.raises(RetryableError, match="could not be reached"):
        call(provider)


def test_without_credentials_it_says_which(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    sighting = world.provider(session_factory=boto3.Session).look("gpu-00000001", place())
    assert not sighting.complete
    assert "there are no AWS credentials" in sighting.problem
    assert "Unable to locate credentials. Nothing was changed; give" in sighting.problem
    assert "AWS_ACCESS_KEY_ID" in sighting.problem
