"""Public machine images by SSM parameter: the Deep Learning images that moto does not know.

Amazon Linux parameters (`/aws/service/ami-amazon-linux-latest/...`) are moto's own. Parameter names as in the
AWS Deep Learning AMI release notes.
"""

from __future__ import annotations

import hashlib
from typing import Any

from moto.ec2.models.amis import Ami

_PREFIX = "/aws/service/deeplearning/ami/x86_64/"
_IMAGES = {
    "base-oss-nvidia-driver-gpu-ubuntu-22.04": "/dev/sda1",
    "base-oss-nvidia-driver-gpu-ubuntu-24.04": "/dev/sda1",
    "base-oss-nvidia-driver-gpu-amazon-linux-2023": "/dev/xvda",
    "oss-nvidia-driver-gpu-pytorch-2.6-ubuntu-22.04": "/dev/sda1",
    "oss-nvidia-driver-gpu-pytorch-2.7-ubuntu-22.04": "/dev/sda1",
}
PARAMETERS = {f"{_PREFIX}{name}/latest/ami-id": name for name in _IMAGES}


def image_id(parameter: str, region: str) -> str | None:
    """The image that the parameter names in this region; None for a parameter that is not ours."""
    if parameter not in PARAMETERS:
        return None
    return "ami-" + hashlib.sha256(f"{parameter}@{region}".encode()).hexdigest()[:17]


def publish_images(ec2_backend: Any) -> None:
    """Make the images known to EC2 in this account and region; cheap when they are."""
    for parameter, name in PARAMETERS.items():
        identity = str(image_id(parameter, ec2_backend.region_name))
        if identity in ec2_backend.amis:
            return
        ec2_backend.amis[identity] = Ami(
            ec2_backend,
            identity,
            name=f"Deep Learning {name}",
            description=f"Simulated image of {parameter}",
            owner_id="898082745236",
            owner_alias="amazon",
            public=True,
            virtualization_type="hvm",
            architecture="x86_64",
            state="available",
            platform=None,
            image_type="machine",
            image_location=f"amazon/{name}",
            hypervisor="xen",
            root_device_type="ebs",
            root_device_name=_IMAGES[name],
        )


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
