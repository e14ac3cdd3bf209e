"""The services beside EC2: identity, public parameters, prices and quotas. Whatever else is asked goes to moto."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lessor.sandbox.aws.call import ApiCall
from lessor.sandbox.aws.errors import Answer, AwsError
from lessor.sandbox.aws.identity import Caller
from lessor.sandbox.aws.images import image_id, parameter_answer
from lessor.sandbox.aws.moto_gateway import ask_moto
from lessor.sandbox.aws.policy import AuthorizationRequest
from lessor.sandbox.aws.pricing_api import get_products
from lessor.sandbox.aws.state import CloudState

IAM_NAMES = {"monitoring": "cloudwatch"}
"""What policies call a service, where it is not the name that calls are signed for."""


def answer(call: ApiCall, caller: Caller, state: CloudState) -> Answer:
    """Answer a call to any service but EC2; raises `AwsError` where AWS refuses."""
    _authorize(call, caller, state)
    handler = _HANDLERS.get((call.service, call.action))
    return handler(call, caller, state) if handler else ask_moto(call, caller.account)


def _authorize(call: ApiCall, caller: Caller, state: CloudState) -> None:
    if call.service == "sts":
        return  # GetCallerIdentity is open to everybody; AssumeRole is checked with the role's trust policy.
    for resource in _resources(call, caller):
        request = AuthorizationRequest(f"{IAM_NAMES.get(call.service, call.service)}:{call.action}", resource)
        if not state.identities.check(caller, request):
            code = "AccessDeniedException" if "x-amz-target" in call.headers else "AccessDenied"
            raise AwsError(
                code,
                f"User: {caller.arn} is not authorized to perform: {request.action} on resource: {resource} "
                f"because no identity-based policy allows the {request.action} action",
                400 if code == "AccessDeniedException" else 403,
            )


def _resources(call: ApiCall, caller: Caller) -> list[str]:
    if call.service == "ssm":
        names = call.document.get("Names") or [call.document.get("Name", "*")]
        return [_parameter_arn(name, call.region, caller.account) for name in names]
    if call.service == "servicequotas":
        quota = call.document.get("QuotaCode", "*")
        return [f"arn:aws:servicequotas:{call.region}:{caller.account}:{call.document.get('ServiceCode', '*')}/{quota}"]
    return ["*"]


def _parameter_arn(name: str, region: str, account: str) -> str:
    owner = "" if name.startswith("/aws/") else account
    return f"arn:aws:ssm:{region}:{owner}:parameter/{name.lstrip('/')}"


def _assume_role(call: ApiCall, caller: Caller, state: CloudState) -> Answer:
    asked = call.parameters
    role_arn, session = asked.get("RoleArn", ""), asked.get("RoleSessionName", "")
    state.identities.check_assume(caller, role_arn, asked.get("ExternalId", ""))
    answered = ask_moto(call, caller.account)
    if not answered.error_code:
        access_key = answered.body.partition(b"<AccessKeyId>")[2].partition(b"</AccessKeyId>")[0].decode()
        state.identities.begin_session(access_key, caller, role_arn, session)
    return answered


def _get_caller_identity(call: ApiCall, caller: Caller, state: CloudState) -> Answer:
    body = (
        '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
        f"<Arn>{caller.arn}</Arn><UserId>AROASANDBOXLESSOR0000:{caller.arn.rsplit('/', 1)[-1]}</UserId>"
        f"<Account>{caller.account}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"
    )
    return Answer(200, body.encode(), {"content-type": "text/xml"})


def _get_parameter(call: ApiCall, caller: Caller, state: CloudState) -> Answer:
    name = str(call.document.get("Name", ""))
    value = image_id(name, call.region)
    return _json({"Parameter": parameter_answer(name, call.region, value)}) if value else ask_moto(call, caller.account)


def _get_parameters(call: ApiCall, caller: Caller, state: CloudState) -> Answer:
    names = call.document.get("Names", [])
    ours = {name: value for name in names if (value := image_id(name, call.region))}
    if not ours:
        return ask_moto(call, caller.account)
    others = [name for name in names if name not in ours]
    rest = (
        json.loads(ask_moto(call.with_document({**call.document, "Names": others}), caller.account).body)
        if others
        else {}
    )
    listed = [parameter_answer(name, call.region, value) for name, value in ours.items()]
    return _json(
        {"Parameters": listed + rest.get("Parameters", []), "InvalidParameters": rest.get("InvalidParameters", [])}
    )


def _get_products(call: ApiCall, caller: Caller, state: CloudState) -> Answer:
    if state.prices.unreachable:
        raise AwsError(
            "InternalErrorException", "An error on the server occurred during the processing of your request.", 500
        )
    return _json(get_products(call.document, state.prices))


def _get_service_quota(call: ApiCall, caller: Caller, state: CloudState) -> Answer:
    return _json(state.quotas.get_service_quota(call.document, caller.account, call.region))


def _list_service_quotas(call: ApiCall, caller: Caller, state: CloudState) -> Answer:
    return _json(state.quotas.list_service_quotas(call.document, caller.account, call.region))


def _json(document: dict[str, Any]) -> Answer:
    return Answer(200, json.dumps(document).encode(), {"content-type": "application/x-amz-json-1.1"})


_HANDLERS: dict[tuple[str, str], Callable[[ApiCall, Caller, CloudState], Answer]] = {
    ("sts", "AssumeRole"): _assume_role,
    ("sts", "GetCallerIdentity"): _get_caller_identity,
    ("ssm", "GetParameter"): _get_parameter,
    ("ssm", "GetParameters"): _get_parameters,
    ("pricing", "GetProducts"): _get_products,
    ("servicequotas", "GetServiceQuota"): _get_service_quota,
    ("servicequotas", "ListServiceQuotas"): _list_service_quotas,
}
