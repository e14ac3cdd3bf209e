"""Lists: filters, pages, types, offerings and spot prices."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from lessor.sandbox.aws import instance_types
from lessor.sandbox.aws.controls import Controls

from .conftest import MARKS, error_of

Launch = Callable[..., list[dict[str, Any]]]

# AWS's own product pages: GPU, count, MiB each, vCPUs, instance store in GB (None: EBS only).
SPECIFICATIONS = {
    "g4dn.xlarge": ("T4", 1, 16384, 4, 125),
    "g4dn.12xlarge": ("T4", 4, 16384, 48, 900),
    "g5.xlarge": ("A10G", 1, 22888, 4, 250),
    "g5.48xlarge": ("A10G", 8, 22888, 192, 7600),
    "g6.xlarge": ("L4", 1, 22888, 4, 250),
    "g6e.48xlarge": ("L40S", 8, 45776, 192, 7600),
    "p3.2xlarge": ("V100", 1, 16384, 8, None),
    "p3.16xlarge": ("V100", 8, 16384, 64, None),
    "p3dn.24xlarge": ("V100", 8, 32768, 96, 1800),
    "p4d.24xlarge": ("A100", 8, 40960, 96, 8000),
    "p4de.24xlarge": ("A100", 8, 81920, 96, 8000),
    "p5.48xlarge": ("H100", 8, 81920, 192, 30400),
    "p5e.48xlarge": ("H200", 8, 144384, 192, 30400),
    "p5en.48xlarge": ("H200", 8, 144384, 192, 30400),
    "p6-b200.48xlarge": ("B200", 8, 183359, 192, 30400),
}


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_gpu_facts_are_true(ec2: Any, name: str) -> None:
    facts = ec2.describe_instance_types(InstanceTypes=[name])["InstanceTypes"][0]
    gpu = facts["GpuInfo"]["Gpus"][0]
    storage = facts.get("InstanceStorageInfo", {}).get("TotalSizeInGB")
    model, count, mib, vcpus, gigabytes = SPECIFICATIONS[name]
    assert (gpu["Manufacturer"], gpu["Name"], gpu["Count"], gpu["MemoryInfo"]["SizeInMiB"]) == (
        "NVIDIA",
        model,
        count,
        mib,
    )
    assert facts["GpuInfo"]["TotalGpuMemoryInMiB"] == count * mib
    assert (facts["VCpuInfo"]["DefaultVCpus"], storage, facts["InstanceStorageSupported"]) == (
        vcpus,
        gigabytes,
        gigabytes is not None,
    )


def test_types_come_in_pages_and_unknown_ones_are_refused(ec2: Any) -> None:
    first = ec2.describe_instance_types(MaxResults=100)
    assert (len(first["InstanceTypes"]), bool(first["NextToken"])) == (100, True)
    assert error_of(ec2.describe_instance_types, InstanceTypes=["p99.huge"]) == ("InvalidInstanceType", 400)


def test_offerings_by_region_and_zone(ec2: Any, controls: Controls) -> None:
    wanted = [{"Name": "instance-type", "Values": ["p4de.24xlarge", "p3.2xlarge"]}]
    by_region = ec2.describe_instance_type_offerings(Filters=wanted)["InstanceTypeOfferings"]
    assert sorted((o["InstanceType"], o["Location"]) for o in by_region) == [
        ("p3.2xlarge", "us-east-1"),
        ("p4de.24xlarge", "us-east-1"),
    ]
    by_zone = ec2.describe_instance_type_offerings(LocationType="availability-zone", Filters=wanted)
    zones = {o["Location"] for o in by_zone["InstanceTypeOfferings"] if o["InstanceType"] == "p4de.24xlarge"}
    assert zones == set(instance_types.zones_offering("us-east-1", "p4de.24xlarge")) == {"us-east-1b", "us-east-1c"}


def test_a_type_refused_everywhere_is_not_offered_by_the_region(ec2: Any, controls: Controls) -> None:
    controls.refuse_type("p5.48xlarge")
    wanted = [{"Name": "instance-type", "Values": ["p5.48xlarge"]}]
    assert ec2.describe_instance_type_offerings(Filters=wanted)["InstanceTypeOfferings"] == []


def test_filters_combine(launch: Launch, ec2: Any) -> None:
    wanted = launch(zone="us-east-1a", ClientToken="a")[0]["InstanceId"]
    launch(zone="us-east-1b", ClientToken="b")
    launch(zone="us-east-1a", ClientToken="c", tags={**MARKS, "lessor:lease": "gpu-00000000"})
    ec2.terminate_instances(InstanceIds=[launch(zone="us-east-1a", ClientToken="d")[0]["InstanceId"]])
    found = ec2.describe_instances(
        Filters=[
            {"Name": "tag:lessor:lease", "Values": [MARKS["lessor:lease"]]},
            {"Name": "availability-zone", "Values": ["us-east-1a"]},
            {"Name": "instance-state-name", "Values": ["pending", "running"]},
            {"Name": "client-token", "Values": ["a", "b", "d"]},
        ]
    )
    assert [i["InstanceId"] for r in found["Reservations"] for i in r["Instances"]] == [wanted]


def test_wildcards_in_filters(launch: Launch, ec2: Any) -> None:
    launch(tags={**MARKS, "lessor:lease": "gpu-aaaaaaaa"})
    launch(tags={**MARKS, "lessor:lease": "gpu-bbbbbbbb"})
    found = ec2.describe_instances(Filters=[{"Name": "tag:lessor:lease", "Values": ["gpu-a*", "gpu-?bbbbbbc"]}])
    assert len(found["Reservations"]) == 1
    found = ec2.describe_instances(Filters=[{"Name": "tag-key", "Values": ["lessor:*"]}])
    assert len(found["Reservations"]) == 2


def test_an_unknown_filter_is_refused(ec2: Any) -> None:
    wanted = [{"Name": "colour", "Values": ["red"]}]
    assert error_of(ec2.describe_instances, Filters=wanted) == ("InvalidParameterValue", 400)


def test_malformed_and_unknown_ids(ec2: Any) -> None:
    assert error_of(ec2.describe_instances, InstanceIds=["gpu-1"]) == ("InvalidInstanceID.Malformed", 400)
    assert error_of(ec2.describe_instances, InstanceIds=["i-0123456789abcdef0"]) == ("InvalidInstanceID.NotFound", 400)


def test_instances_come_in_pages(launch: Launch, ec2: Any) -> None:
    launch(MinCount=12, MaxCount=12)
    pages = ec2.get_paginator("describe_instances").paginate(PaginationConfig={"PageSize": 5})
    sizes = [sum(len(r["Instances"]) for r in page["Reservations"]) for page in pages]
    assert sizes == [5, 5, 2]


def test_planned_pages_may_be_short_or_empty_and_still_go_on(launch: Launch, ec2: Any, controls: Controls) -> None:
    launch(MinCount=25, MaxCount=25)
    controls.plan_pages("DescribeInstances", [10, 0, 15])
    pages = list(ec2.get_paginator("describe_instances").paginate())
    assert [sum(len(r["Instances"]) for r in page["Reservations"]) for page in pages] == [10, 0, 15]
    assert [bool(page.get("NextToken")) for page in pages] == [True, True, False]


def test_the_last_page_may_be_empty(launch: Launch, ec2: Any, controls: Controls) -> None:
    launch(MinCount=3, MaxCount=3)
    controls.plan_pages("DescribeInstances", [3, 0])
    pages = list(ec2.get_paginator("describe_instances").paginate())
    assert [sum(len(r["Instances"]) for r in page["Reservations"]) for page in pages] == [3, 0]


def test_a_large_fleet_over_planned_pages(ec2: Any, controls: Controls) -> None:
    ids = controls.populate(250, tags={"team": "research"})
    controls.plan_pages("DescribeInstances", [100, 0, 150])
    pages = ec2.get_paginator("describe_instances").paginate(Filters=[{"Name": "tag:team", "Values": ["research"]}])
    found = [i["InstanceId"] for page in pages for r in page["Reservations"] for i in r["Instances"]]
    assert sorted(found) == sorted(ids)
    assert controls.calls("DescribeInstances") == 3


def test_a_failure_on_the_second_page(launch: Launch, ec2: Any, controls: Controls) -> None:
    launch(MinCount=12, MaxCount=12)
    token = ec2.describe_instances(MaxResults=5)["NextToken"]
    controls.throttle("DescribeInstances")
    assert error_of(ec2.describe_instances, MaxResults=5, NextToken=token)[0] == "RequestLimitExceeded"
    again = ec2.describe_instances(MaxResults=5, NextToken=token)
    assert sum(len(r["Instances"]) for r in again["Reservations"]) == 5


def test_page_sizes_and_tokens_are_checked(ec2: Any, launch: Launch) -> None:
    assert error_of(ec2.describe_instances, MaxResults=4) == ("InvalidParameterValue", 400)
    assert error_of(ec2.describe_instances, NextToken="made-up") == ("InvalidParameterValue", 400)
    instance = launch()[0]["InstanceId"]
    assert error_of(ec2.describe_instances, InstanceIds=[instance], MaxResults=5)[0] == "InvalidParameterCombination"


def test_volumes_and_interfaces_come_in_pages_too(launch: Launch, ec2: Any) -> None:
    launch(MinCount=12, MaxCount=12)
    for name, key in (("describe_volumes", "Volumes"), ("describe_network_interfaces", "NetworkInterfaces")):
        pages = list(ec2.get_paginator(name).paginate(PaginationConfig={"PageSize": 5}))
        assert sum(len(page[key]) for page in pages) >= 12
        assert len(pages[0][key]) == 5


def test_spot_prices_differ_by_zone_and_are_dated(ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    now = controls.advance(0)
    history = ec2.describe_spot_price_history(InstanceTypes=["g5.xlarge"], ProductDescriptions=["Linux/UNIX"])
    entries = history["SpotPriceHistory"]
    newest = {e["AvailabilityZone"]: Decimal(e["SpotPrice"]) for e in entries[:5]}
    assert sorted(newest) == [f"us-east-1{z}" for z in "abcdf"]
    assert len(set(newest.values())) > 1
    assert all(Decimal("0.30") <= price <= Decimal("0.61") for price in newest.values())
    stamps = [e["Timestamp"] for e in entries]
    assert stamps == sorted(stamps, reverse=True)
    assert now - stamps[0] < timedelta(hours=3)


def test_spot_price_of_one_zone_now(ec2: Any, controls: Controls) -> None:
    now = controls.advance(0)
    history = ec2.describe_spot_price_history(
        InstanceTypes=["p4d.24xlarge"], AvailabilityZone="us-east-1b", StartTime=now, EndTime=now
    )["SpotPriceHistory"]
    assert [(e["AvailabilityZone"], e["InstanceType"]) for e in history] == [("us-east-1b", "p4d.24xlarge")]
