"""One simulated AWS for all tests of this directory, emptied before each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from lessor.sandbox.aws.controls import Controls
from lessor.sandbox.aws.identity import LESSOR_ACCESS_KEY, administrator_key
from lessor.sandbox.aws.server import RunningSimulator

LEASE = "gpu-7k3qxa2m"
MARKS = {"lessor:managed-by": "lessor", "lessor:lease": LEASE}
IMAGE_PARAMETER = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
_ONE_ATTEMPT = Config(retries={"total_max_attempts": 1}, read_timeout=60, connect_timeout=10)

ClientOf = Callable[..., Any]


@pytest.fixture(scope="session")
def running(running_aws: RunningSimulator) -> RunningSimulator:
    return running_aws


@pytest.fixture
def simulator(running: RunningSimulator) -> RunningSimulator:
    running.reset()
    return running


@pytest.fixture
def controls(simulator: RunningSimulator) -> Controls:
    return simulator.controls


@pytest.fixture(scope="session")
def client_of(running: RunningSimulator) -> ClientOf:
    """`client_of("ec2")` speaks as lessor; `key`, `secret` and `token` make it somebody else. One attempt a call."""

    @cache
    def make(service: str, region: str = "us-east-1", key: str = LESSOR_ACCESS_KEY, token: str | None = None) -> Any:
        return _session().client(
            service,
            region_name=region,
            endpoint_url=running.url,
            aws_access_key_id=key,
            aws_secret_access_key="secret",
            aws_session_token=token,
            config=_ONE_ATTEMPT,
        )

    return make


@pytest.fixture
def ec2(simulator: RunningSimulator, client_of: ClientOf) -> Any:
    """EC2 in us-east-1 as lessor."""
    return client_of("ec2")


@pytest.fixture
def administrator(simulator: RunningSimulator, client_of: ClientOf) -> Any:
    """EC2 in us-east-1 as the people who own the account."""
    return client_of("ec2", key=administrator_key())


@pytest.fixture
def launch(ec2: Any, client_of: ClientOf) -> Callable[..., Any]:
    """Launch as lessor would; returns the instances. `on` is another client, the rest goes into the request."""

    def run(on: Any = None, **changes: Any) -> list[dict[str, Any]]:
        client = on or ec2
        answer = client.run_instances(**launch_request(image(client_of, client.meta.region_name), **changes))
        return list(answer["Instances"])

    return run


def launch_request(image_id: str, **changes: Any) -> dict[str, Any]:
    """A RunInstances request that the shipped policy allows. `zone`, `tags` and `spot` are short forms."""
    zone, tags, spot = changes.pop("zone", None), changes.pop("tags", MARKS), changes.pop("spot", None)
    kinds = ["instance", "volume", "network-interface"] + (["spot-instances-request"] if spot is not None else [])
    request: dict[str, Any] = {
        "ImageId": image_id,
        "InstanceType": "g5.xlarge",
        "MinCount": 1,
        "MaxCount": 1,
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 100, "VolumeType": "gp3", "Encrypted": True}}
        ],
        "NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": False}],
        "TagSpecifications": [{"ResourceType": kind, "Tags": tag_list(tags)} for kind in kinds],
    }
    if zone:
        request["Placement"] = {"AvailabilityZone": zone}
    if spot is not None:
        request["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": spot}
    return {name: value for name, value in {**request, **changes}.items() if value is not None}


def tag_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def image(client_of: ClientOf, region: str = "us-east-1") -> str:
    return str(client_of("ssm", region).get_parameter(Name=IMAGE_PARAMETER)["Parameter"]["Value"])


def error_of(call: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[str, int]:
    """The AWS error code and HTTP status that the call ends with."""
    with pytest.raises(ClientError) as caught:
        call(*arguments, **named)
    return caught.value.response["Error"]["Code"], caught.value.response["ResponseMetadata"]["HTTPStatusCode"]


def message_of(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(*arguments, **named)
    return str(caught.value.response["Error"]["Message"])


def state_of(client: Any, instance_id: str) -> str:
    reservations = client.describe_instances(InstanceIds=[instance_id])["Reservations"]
    return str(reservations[0]["Instances"][0]["State"]["Name"])


@cache
def _session() -> boto3.Session:
    return boto3.Session()
