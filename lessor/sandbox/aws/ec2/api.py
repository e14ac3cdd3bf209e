"""The simulated EC2: all actions together, called with one request."""

from __future__ import annotations

from typing import Any

from moto.core.request import Request

from lessor.sandbox.aws.call import ApiCall
from lessor.sandbox.aws.ec2.describing import DescribeActions
from lessor.sandbox.aws.ec2.resources import ResourceActions
from lessor.sandbox.aws.ec2.stateful import LifecycleActions
from lessor.sandbox.aws.errors import Answer, AwsError


class SimulatedEc2(LifecycleActions, DescribeActions, ResourceActions):
    """One call to EC2."""

    def answer(self, call: ApiCall) -> Answer:
        """moto's answer as the simulator changes it; raises `AwsError` where EC2 refuses."""
        url = f"https://ec2.{call.region}.amazonaws.com{call.path}" + (f"?{call.query}" if call.query else "")
        request = Request.from_primitives(call.method, url, call.headers, call.body)
        try:
            status, headers, body = self._dispatch(request)
        except NotImplementedError as error:
            raise AwsError("InvalidAction", f"The action {call.action} is not valid for this web service.") from error
        return _answer(int(status), headers, body)


def _answer(status: int, headers: dict[str, Any], body: Any) -> Answer:
    content = body.encode() if isinstance(body, str) else body
    code = ""
    if status >= 400:
        code = content.partition(b"<Code>")[2].partition(b"</Code>")[0].decode() or str(status)
    kept = {"content-type": str(headers.get("Content-Type") or headers.get("content-type") or "text/xml;charset=UTF-8")}
    return Answer(status, content, kept, code)
