"""Prices, quotas, image parameters and identity."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from lessor.sandbox.aws.controls import Controls

from .conftest import IMAGE_PARAMETER, ClientOf, error_of

CHOSEN = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


def products(client_of: ClientOf, **attributes: str) -> list[dict[str, Any]]:
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in attributes.items()]
    pages = client_of("pricing").get_paginator("get_products").paginate(ServiceCode="AmazonEC2", Filters=filters)
    return [json.loads(text) for page in pages for text in page["PriceList"]]


def hourly(item: dict[str, Any]) -> Decimal:
    (term,) = item["terms"]["OnDemand"].values()
    (dimension,) = term["priceDimensions"].values()
    assert dimension["unit"] == "Hrs"
    return Decimal(dimension["pricePerUnit"]["USD"])


@pytest.fixture(autouse=True)
def _fresh(controls: Controls) -> None:
    """Every test begins with an empty AWS."""


def test_one_type_is_many_products_and_some_cost_nothing(client_of: ClientOf) -> None:
    found = products(client_of, instanceType="p5.48xlarge", regionCode="us-east-1")
    assert len(found) == 25
    free = {
        (p["product"]["attributes"]["capacitystatus"], p["product"]["attributes"]["marketoption"])
        for p in found
        if not hourly(p)
    }
    assert free == {("AllocatedCapacityReservation", "OnDemand"), ("Used", "CapacityBlock")}


def test_the_right_product_has_the_list_price(client_of: ClientOf) -> None:
    (found,) = products(client_of, instanceType="g5.xlarge", regionCode="us-east-1", **CHOSEN)
    assert hourly(found) == Decimal("1.006")
    assert found["product"]["attributes"]["location"] == "US East (N. Virginia)"
    assert found["publicationDate"] == "2025-06-15T00:00:00Z"
    (windows,) = products(
        client_of, instanceType="g5.xlarge", regionCode="us-east-1", **{**CHOSEN, "operatingSystem": "Windows"}
    )
    assert hourly(windows) == Decimal("1.19")


def test_locations_can_be_named_and_differ_in_price(client_of: ClientOf) -> None:
    (ireland,) = products(client_of, instanceType="g5.xlarge", location="EU (Ireland)", **CHOSEN)
    assert hourly(ireland) == Decimal("1.0965")


def test_prices_come_in_pages(client_of: ClientOf) -> None:
    first = client_of("pricing").get_products(ServiceCode="AmazonEC2", MaxResults=10)
    assert (len(first["PriceList"]), bool(first["NextToken"])) == (10, True)


def test_a_type_without_price(client_of: ClientOf, controls: Controls) -> None:
    assert products(client_of, instanceType="p5e.48xlarge", regionCode="us-east-1") == []
    controls.remove_price("g5.xlarge")
    assert products(client_of, instanceType="g5.xlarge", regionCode="us-east-1") == []
    controls.set_price("p5e.48xlarge", "70.00")
    assert products(client_of, instanceType="nonsense.large", regionCode="us-east-1") == []


def test_a_type_that_the_region_lacks_has_no_product(client_of: ClientOf) -> None:
    assert products(client_of, instanceType="p5en.48xlarge", regionCode="eu-west-1") == []


def test_pricing_can_be_unreachable(client_of: ClientOf, controls: Controls) -> None:
    controls.make_pricing_unreachable()
    assert error_of(client_of("pricing").get_products, ServiceCode="AmazonEC2") == ("InternalErrorException", 500)


def test_quotas_are_readable_and_settable(client_of: ClientOf, controls: Controls) -> None:
    quotas = client_of("service-quotas")
    controls.set_quota("L-417A185B", 192, region="us-east-1")
    quota = quotas.get_service_quota(ServiceCode="ec2", QuotaCode="L-417A185B")["Quota"]
    assert (quota["QuotaName"], quota["Value"]) == ("Running On-Demand P instances", 192.0)
    west = client_of("service-quotas", "us-west-2")
    assert west.get_service_quota(ServiceCode="ec2", QuotaCode="L-417A185B")["Quota"]["Value"] == 1152.0
    unknown = error_of(quotas.get_service_quota, ServiceCode="ec2", QuotaCode="L-00000000")
    assert unknown == ("NoSuchResourceException", 400)
    with pytest.raises(ValueError, match="unknown quota code 'L-0'"):
        controls.set_quota("L-0", 1)


def test_image_parameters_resolve_to_images_that_ec2_knows(client_of: ClientOf) -> None:
    ssm = client_of("ssm")
    amazon = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
    found = {p["Name"]: p["Value"] for p in ssm.get_parameters(Names=[IMAGE_PARAMETER, amazon])["Parameters"]}
    assert set(found) == {IMAGE_PARAMETER, amazon}
    images = client_of("ec2").describe_images(ImageIds=list(found.values()))["Images"]
    assert {i["State"] for i in images} == {"available"}
    assert {i["ImageId"] for i in images} == set(found.values())


def test_images_differ_by_region(client_of: ClientOf) -> None:
    values = {
        client_of("ssm", region).get_parameter(Name=IMAGE_PARAMETER)["Parameter"]["Value"]
        for region in ("us-east-1", "eu-west-1")
    }
    assert len(values) == 2


def test_an_unknown_parameter_is_not_found(client_of: ClientOf) -> None:
    ssm, unknown = client_of("ssm"), "/aws/service/deeplearning/ami/x86_64/nothing/latest/ami-id"
    assert error_of(ssm.get_parameter, Name=unknown) == ("ParameterNotFound", 400)
    answer = ssm.get_parameters(Names=[IMAGE_PARAMETER, unknown])
    assert ([p["Name"] for p in answer["Parameters"]], answer["InvalidParameters"]) == ([IMAGE_PARAMETER], [unknown])


def test_who_am_i(client_of: ClientOf) -> None:
    me = client_of("sts").get_caller_identity()
    assert (me["Account"], me["Arn"]) == ("123456789012", "arn:aws:sts::123456789012:assumed-role/lessor/sandbox")
