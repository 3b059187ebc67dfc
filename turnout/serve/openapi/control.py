"""What the document says about control."""

from http import HTTPStatus

from turnout.orchestrator.preview import WORDS, Work
from turnout.schema import JoinType
from turnout.serve.control_api import LARGEST_CONTROL_BYTES, OUTCOME_SECONDS
from turnout.serve.openapi.examples import ID, TIME, Examples
from turnout.serve.openapi.parts import (
    LONG,
    NUMBER,
    TEXT,
    Operations,
    Part,
    answer,
    content,
    error,
    fields,
    list_of,
    named,
    one_of,
    operation,
    or_null,
)
from turnout.service import STILL_STARTING

_APPLIED = {"id": ID, "outcome": "applied"}
_TOO_LARGE = error("The message is too large.", f"a control message has at most {LARGEST_CONTROL_BYTES} bytes")
_UNREACHABLE = error("Kafka cannot be reached, or not yet: try again.", STILL_STARTING)
_NO_JOIN = f"joinType: 'outer' is not a join type; allowed: {', '.join(JoinType)} (natural and left_outer mean left)"

# The answers to whatever publishes a control message.
_PUBLISHED = {
    HTTPStatus.OK: answer(
        "Its outcome: `applied`, `no change`, or `superseded` by a newer one.", content(named("Outcome"), _APPLIED)
    ),
    HTTPStatus.ACCEPTED: answer(
        f"It is published, and not decided after {OUTCOME_SECONDS:g} s; `GET /api/control/{{id}}` tells when it is.",
        content(fields({"id": TEXT}), {"id": ID}),
    ),
    HTTPStatus.UNPROCESSABLE_ENTITY: answer(
        "It was rejected, and nothing has changed; the outcome says why.",
        content(named("Outcome"), {"id": ID, "outcome": f"rejected: {_NO_JOIN}"}),
    ),
    HTTPStatus.SERVICE_UNAVAILABLE: _UNREACHABLE,
}


def control(examples: Examples) -> Operations:
    return {
        "/api/control": {"post": _control(examples)},
        "/api/control/{id}": {"get": _outcome()},
        "/api/preview": {"post": _preview(examples)},
        "/api/topics": {"get": _topics(examples)},
        "/api/undo": {"post": _undo()},
    }


def parameters() -> dict[str, Part]:
    """More about the parameters with these names."""
    return {"id": {"description": "The id that the answer to `POST /api/control` gave.", "example": ID}}


def _control(examples: Examples) -> Part:
    responses = {**_PUBLISHED, HTTPStatus.REQUEST_ENTITY_TOO_LARGE: _TOO_LARGE}
    return operation("Switch", f"$/api/control -d '{examples.message}'", responses, requestBody=_message(examples))


def _message(examples: Examples) -> Part:
    allowed = ", ".join(f"`{join}`" for join in JoinType)
    return {
        "description": "Any of these fields; what is missing, null or blank stays as it is. "
        f"`{examples.fields.join}` is one of {allowed}. The body is read as JSON, whatever its content type says.",
        "required": True,
        "content": content(
            {"type": "object", "properties": dict.fromkeys(examples.shown, or_null(TEXT))}, examples.switched
        ),
    }


def _undo() -> Part:
    nothing = error(
        "Nothing else was shown before.",
        "There is nothing to undo: no other topics or join type have been shown before.",
    )
    return operation(
        "Go back to what was shown before", "-X POST $/api/undo", {**_PUBLISHED, HTTPStatus.CONFLICT: nothing}
    )


def _outcome() -> Part:
    found = answer(
        "What has become of it; null while that is open.",
        content(fields({"id": TEXT, "outcome": or_null(TEXT)}), _APPLIED),
    )
    missing = error(
        "No such message has been read.", f"no control message '{ID}' has been read: an id is partition:offset"
    )
    responses = {HTTPStatus.OK: found, HTTPStatus.NOT_FOUND: missing}
    return operation("What has become of a control message", f"$/api/control/{ID}", responses)


def _preview(examples: Examples) -> Part:
    shown, work = named("Shown"), one_of(list(Work))
    schema = fields({"from": shown, "to": shown, "work": work, "text": TEXT, "ignored": list_of(TEXT)})
    example = {
        "from": examples.shown,
        "to": examples.switched,
        "work": str(Work.VIEW),
        "text": WORDS[Work.VIEW],
        "ignored": [],
    }
    responses = {
        HTTPStatus.OK: answer("From what to what, and what has to be done for it.", content(schema, example)),
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE: _TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY: error("It would be rejected.", _NO_JOIN),
        HTTPStatus.SERVICE_UNAVAILABLE: _UNREACHABLE,
    }
    curl = f"$/api/preview -d '{examples.message}'"
    return operation("What a control message would come to", curl, responses, requestBody=_message(examples))


def _topics(examples: Examples) -> Part:
    unknown = {"messages": or_null(LONG), "messagesPerSecond": or_null(NUMBER), "newestAt": or_null(TEXT)}
    topic = fields({"name": TEXT, "partitions": LONG, **unknown})
    example = {
        "name": examples.shown[examples.fields.left],
        "partitions": 3,
        "messages": 1200,
        "messagesPerSecond": 2.5,
        "newestAt": TIME,
    }
    found = answer(
        "The topics, but for Kafka's own. A rate is that of the last minute; null is unknown.",
        content(fields({"topics": list_of(topic)}), {"topics": [example]}),
    )
    responses = {HTTPStatus.OK: found, HTTPStatus.SERVICE_UNAVAILABLE: _UNREACHABLE}
    return operation("Which topics there are", "$/api/topics", responses)
