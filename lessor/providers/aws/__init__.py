"""EC2: instances by lease, launched once, tagged whole, taken down with proof."""

from __future__ import annotations

from lessor.providers.aws.place import Ec2Place, OwnDiskPrice, OwnPrice
from lessor.providers.aws.provider import Ec2Provider

__all__ = ["Ec2Place", "Ec2Provider", "OwnDiskPrice", "OwnPrice"]
