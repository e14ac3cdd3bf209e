"""Public machine images by SSM parameter: the Deep Learning images that moto does not know.

Amazon Linux parameters (`/aws/service/ami-amazon-linux-latest/...`) are moto's own. Parameter names as in the
AWS Deep Learning AMI release notes.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

from moto.ec2.models.amis import Ami, AmiBackend
from moto.utilities.utils import load_resource

_PREFIX = "/aws/service/deeplearning/ami"
_IMAGES = {
    "base-oss-nvidia-driver-gpu-ubuntu-22.04": "/dev/sda1",
    "base-oss-nvidia-driver-gpu-ubuntu-24.04": "/dev/sda1",
    "base-oss-nvidia-driver-gpu-amazon-linux-2023": "/dev/xvda",
    "oss-nvidia-driver-gpu-pytorch-2.6-ubuntu-22.04": "/dev/sda1",
    "oss-nvidia-driver-gpu-pytorch-2.7-ubuntu-22.04": "/dev/sda1",
}
_ARM = tuple(name for name in _IMAGES if name.startswith("base-"))
PARAMETERS = {f"{_PREFIX}/x86_64/{name}/latest/ami-id": (name, "x86_64") for name in _IMAGES}
PARAMETERS |= {f"{_PREFIX}/arm64/{name}/latest/ami-id": (name, "arm64") for name in _ARM}
"""Name and processor of the image behind each parameter."""


def image_id(parameter: str, region: str) -> str | None:
    """The image that the parameter names in this region; None for a parameter that is not ours."""
    if parameter not in PARAMETERS:
        return None
    return "ami-" + hashlib.sha256(f"{parameter}@{region}".encode()).hexdigest()[:17]


def install() -> None:
    """Make every new account and region know these images and Amazon Linux, and not moto's 1,300 others.

    The others cost a third of a second for each account and region after each reset.
    """
    backend: Any = AmiBackend
    backend._load_amis = _load_images


def _load_images(backend: Any) -> None:
    for facts in _amazon_linux(backend.region_name):
        backend.amis[facts["ami_id"]] = Ami(backend, owner_alias="amazon", **facts)
    for parameter, (name, architecture) in PARAMETERS.items():
        identity = str(image_id(parameter, backend.region_name))
        backend.amis[identity] = Ami(
            backend,
            identity,
            name=f"Deep Learning {name}",
            description=f"Simulated image of {parameter}",
            owner_id="898082745236",
            owner_alias="amazon",
            public=True,
            virtualization_type="hvm",
            architecture=architecture,
            image_location=f"amazon/{name}",
            hypervisor="xen",
            root_device_type="ebs",
            root_device_name=_IMAGES[name],
        )


@cache
def _amazon_linux(region: str) -> list[dict[str, Any]]:
    try:
        images: list[dict[str, Any]] = load_resource(f"ec2/resources/latest_amis/{region}.json")
    except FileNotFoundError:
        return []
    return [{name: value for name, value in image.items() if name != "creation_date"} for image in images]


def parameter_answer(name: str, region: str, value: str) -> dict[str, Any]:
    """One parameter as GetParameter and GetParameters show it."""
    return {
        "Name": name,
        "Type": "String",
        "Value": value,
        "Version": 1,
        "LastModifiedDate": 1750000000.0,
        "ARN": f"arn:aws:ssm:{region}::parameter{name}",
        "DataType": "aws:ec2:image",
    }
