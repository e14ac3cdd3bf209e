"""The Price List Query API (`pricing:GetProducts`) for GPU instance types.

One type in one region is many products: operating systems, tenancies, pre-installed software, capacity that is used,
reserved or unused, capacity blocks. Two of them cost $0.00. Whoever takes the first one gets the price wrong.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import Any

from lessor.sandbox.aws import instance_types
from lessor.sandbox.aws.errors import AwsError
from lessor.sandbox.aws.prices import LIST_DATE, PriceBook

_ON_DEMAND_TERM, _HOURLY_RATE = "JRTCKXETXF", "6YS6EN2CT7"
_LOCATIONS = {
    "us-east-1": "US East (N. Virginia)",
    "us-east-2": "US East (Ohio)",
    "us-west-2": "US West (Oregon)",
    "eu-west-1": "EU (Ireland)",
    "eu-central-1": "EU (Frankfurt)",
}
_SYSTEMS = {"Linux": ("RunInstances", Decimal("0")), "Windows": ("RunInstances:0002", Decimal("0.0460"))}
_CAPACITY = {
    "Used": "BoxUsage",
    "AllocatedCapacityReservation": "Reservation",
    "UnusedCapacityReservation": "UnusedBox",
}
_MOST_RESULTS = 100


def get_products(document: dict[str, Any], prices: PriceBook) -> dict[str, Any]:
    """The answer of `GetProducts`; `PriceList` holds JSON texts, as AWS sends them."""
    if document.get("ServiceCode") != "AmazonEC2":
        raise AwsError("InvalidParameterException", f"Invalid service code {document.get('ServiceCode')!r}")
    filters = {f["Field"]: f["Value"] for f in document.get("Filters", [])}
    found = [p for p in _products(prices, filters) if _matches(p, filters)]
    start, size = int(document.get("NextToken") or 0), int(document.get("MaxResults") or _MOST_RESULTS)
    if not 1 <= size <= _MOST_RESULTS:
        raise AwsError("InvalidParameterException", f"MaxResults must be between 1 and {_MOST_RESULTS}")
    answer = {"FormatVersion": "aws_v1", "PriceList": [json.dumps(p) for p in found[start : start + size]]}
    return answer | ({"NextToken": str(start + size)} if start + size < len(found) else {})


def _matches(item: dict[str, Any], filters: dict[str, str]) -> bool:
    attributes = item["product"]["attributes"] | {"productFamily": item["product"]["productFamily"]}
    return all(str(attributes.get(field, "")).lower() == value.lower() for field, value in filters.items())


def _products(prices: PriceBook, filters: dict[str, str]) -> Iterator[dict[str, Any]]:
    kinds = [filters["instanceType"]] if "instanceType" in filters else instance_types.gpu_types()
    regions = [filters["regionCode"]] if "regionCode" in filters else list(_LOCATIONS)
    for kind, region in product(kinds, regions):
        price = prices.listed(kind, region)
        if price is not None and region in _LOCATIONS and instance_types.zones_offering(region, kind):
            yield from _variants(kind, region, price)


def _variants(kind: str, region: str, price: Decimal) -> Iterator[dict[str, Any]]:
    for system, tenancy, software, capacity in product(_SYSTEMS, ("Shared", "Dedicated"), ("NA", "SQL Std"), _CAPACITY):
        per_vcpu = _SYSTEMS[system][1] + (Decimal("0.1200") if software != "NA" else 0)
        hourly = price + per_vcpu * instance_types.vcpus(kind)
        hourly *= Decimal("1.06") if tenancy == "Dedicated" else 1
        hourly = Decimal(0) if capacity == "AllocatedCapacityReservation" else hourly
        facts = {"operatingSystem": system, "tenancy": tenancy, "preInstalledSw": software, "capacitystatus": capacity}
        yield _product(kind, region, facts, hourly, market="OnDemand")
    if kind.startswith(("p4", "p5", "p6")):
        facts = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}
        yield _product(kind, region, facts, Decimal(0), market="CapacityBlock")


def _product(kind: str, region: str, facts: dict[str, str], hourly: Decimal, *, market: str) -> dict[str, Any]:
    sku = hashlib.sha256(f"{kind}/{region}/{sorted(facts.items())}/{market}".encode()).hexdigest()[:16].upper()
    attributes = {
        **facts,
        "instanceType": kind,
        "instanceFamily": "GPU instance",
        "vcpu": str(instance_types.vcpus(kind)),
        "location": _LOCATIONS[region],
        "locationType": "AWS Region",
        "regionCode": region,
        "servicecode": "AmazonEC2",
        "servicename": "Amazon Elastic Compute Cloud",
        "licenseModel": "No License required",
        "marketoption": market,
        "operation": _SYSTEMS[facts["operatingSystem"]][0],
        "usagetype": f"{_CAPACITY[facts['capacitystatus']]}:{kind}",
    }
    return {
        "product": {"productFamily": "Compute Instance", "attributes": attributes, "sku": sku},
        "serviceCode": "AmazonEC2",
        "terms": {"OnDemand": _on_demand(sku, kind, facts, hourly), "Reserved": _reserved(sku, hourly)},
        "version": f"{LIST_DATE:%Y%m%d%H%M%S}",
        "publicationDate": f"{LIST_DATE:%Y-%m-%dT%H:%M:%SZ}",
    }


def _on_demand(sku: str, kind: str, facts: dict[str, str], hourly: Decimal) -> dict[str, Any]:
    text = f"${hourly:.4f} per On Demand {facts['operatingSystem']} {kind} Instance Hour"
    return _term(sku, _ON_DEMAND_TERM, text, hourly, {})


def _reserved(sku: str, hourly: Decimal) -> dict[str, Any]:
    if not hourly:
        return {}
    terms = {"LeaseContractLength": "1yr", "OfferingClass": "standard", "PurchaseOption": "All Upfront"}
    return _term(sku, "6QCMYABX3D", "USD 0.0 per reserved instance applied", Decimal(0), terms)


def _term(sku: str, code: str, text: str, hourly: Decimal, attributes: dict[str, str]) -> dict[str, Any]:
    rate = f"{sku}.{code}.{_HOURLY_RATE}"
    dimension = {
        "unit": "Hrs",
        "beginRange": "0",
        "endRange": "Inf",
        "description": text,
        "appliesTo": [],
        "rateCode": rate,
        "pricePerUnit": {"USD": f"{hourly:.10f}"},
    }
    return {
        f"{sku}.{code}": {
            "sku": sku,
            "offerTermCode": code,
            "effectiveDate": f"{LIST_DATE:%Y-%m-%dT%H:%M:%SZ}",
            "termAttributes": attributes,
            "priceDimensions": {rate: dimension},
        }
    }
