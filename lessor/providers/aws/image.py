"""The image that a machine starts from, by SSM parameter, and the script that it runs first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lessor.domain.provisioning import Order
from lessor.ports import PermanentError
from lessor.providers.aws import tags
from lessor.providers.aws.errors import sorted_errors
from lessor.providers.aws.site import Site
from lessor.rendering import Renderer

LARGEST_USER_DATA = 16 * 1024


@dataclass(frozen=True)
class Image:
    """A machine image: `root_gib` is the smallest root volume that it fits on."""

    id: str
    root_device: str
    root_gib: int


def image(site: Site, architecture: str) -> Image:
    """The image named by the place's SSM parameter for the processor. Raises `PermanentError` when there is none."""
    place = site.place
    key = "ami_parameter" if architecture == "x86_64" else "ami_parameter_arm"
    parameter = str(getattr(place, key))
    with sorted_errors(f"reading the image parameter {parameter} in {site.region}"):
        answer: dict[str, Any] = site.client("ssm").get_parameter(Name=parameter)
    image_id = str(answer["Parameter"]["Value"])
    found = site.read("describe_images", "Images", ImageIds=[image_id])
    if not found:
        raise PermanentError(
            f"{parameter} in {site.region} names {image_id}, which does not exist there; nothing was created, "
            f"correct {key} of {place.name} in lessor.yaml",
            "no-image",
        )
    root = str(found[0].get("RootDeviceName") or "/dev/sda1")
    sizes = [m.get("Ebs", {}).get("VolumeSize", 0) for m in found[0].get("BlockDeviceMappings", [])]
    return Image(image_id, root, max(sizes, default=0))


def user_data(site: Site, order: Order, templates: Renderer) -> str:
    """The script for the machine's first start: the same for every attempt, since a launch must be (case C04)."""
    text = templates.render(
        site.place.user_data_template,
        lease_id=order.lease_id,
        owner=tags.clean(order.owner),
        team=tags.clean(order.team),
        region=site.region,
    )
    if len(text.encode()) > LARGEST_USER_DATA:
        raise PermanentError(
            f"the user data from {site.place.user_data_template} has {len(text.encode()):,} bytes; EC2 takes "
            f"{LARGEST_USER_DATA:,}. Nothing was created; shorten the template",
            "user-data-too-long",
        )
    return text
