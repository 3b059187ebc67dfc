"""Whatever is asked over HTTP: an answer that the OpenAPI document describes, and never a failure of the server."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from turnout.config import load
from turnout.serve.app import create_app
from turnout.service import Service

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]

api = schemathesis.openapi.from_dict(create_app(Service(load(None, env={}))).openapi())


@api.exclude(path_regex="/changes$").parametrize()  # but for streams, which have no end
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # one server is enough for all of them
@pytest.mark.usefixtures("live")
def test_any_request_has_an_answer_that_is_described(case: Case[Any], server: str) -> None:
    case.call_and_validate(base_url=server, checks=CHECKS)
