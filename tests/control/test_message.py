import json
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnout.control.message import ControlFields, ControlMessage, Request, compose, parse, resolve
from turnout.errors import ControlRejected
from turnout.orchestrator.desired import Desired
from turnout.schema import JoinType, Topics

FIELDS = ControlFields("ordersTopic", "paymentsTopic")
NOW = Desired(Topics("orders", "payments"), JoinType.FULL)


def ask(message: object) -> Request:
    return parse(json.dumps(message).encode(), FIELDS)


def wanted(message: Mapping[str, object]) -> Desired:
    """What the tables are to show after this message."""
    return resolve(NOW, ask(message))


def reason(value: bytes) -> str:
    """Why a message is rejected."""
    with pytest.raises(ControlRejected) as rejected:
        resolve(NOW, parse(value, FIELDS))
    return str(rejected.value)


def refusal(message: object) -> str:
    return reason(json.dumps(message).encode())


def test_a_message_may_name_everything() -> None:
    message = {"ordersTopic": "o2", "paymentsTopic": "p2", "joinType": "inner"}
    assert wanted(message) == Desired(Topics("o2", "p2"), JoinType.INNER)


def test_what_a_message_does_not_name_stays() -> None:
    assert wanted({}) == NOW
    assert wanted({"ordersTopic": "o2"}) == Desired(Topics("o2", "payments"), JoinType.FULL)
    assert wanted({"paymentsTopic": "p2"}) == Desired(Topics("orders", "p2"), JoinType.FULL)
    assert wanted({"joinType": "anti"}) == Desired(NOW.topics, JoinType.ANTI)


@pytest.mark.parametrize("nothing", [None, "", " ", "\t\r\n ", "\u00a0\u2003"])
@pytest.mark.parametrize("field", ["ordersTopic", "paymentsTopic", "joinType"])
def test_null_empty_and_blank_keep_what_is(field: str, nothing: str | None) -> None:
    assert wanted({field: nothing}) == NOW


def test_values_are_trimmed() -> None:
    message = {"ordersTopic": " o2\n", "paymentsTopic": "\tp2 ", "joinType": "  semi "}
    assert wanted(message) == Desired(Topics("o2", "p2"), JoinType.SEMI)


@pytest.mark.parametrize("join", JoinType)
def test_every_join_type_is_taken_in_any_case(join: JoinType) -> None:
    for name in (str(join), join.upper(), join.title()):
        assert ask({"joinType": name}).join is join


@pytest.mark.parametrize("alias", ["natural", "left_outer", "NATURAL", " Left_Outer "])
def test_natural_and_left_outer_mean_left(alias: str) -> None:
    assert ask({"joinType": alias}).join is JoinType.LEFT


def test_topics_keep_their_case() -> None:
    assert ask({"ordersTopic": "Orders.V2_b-1"}).left == "Orders.V2_b-1"


def test_unknown_fields_are_ignored_and_named() -> None:
    request = ask({"usersTopic": "u", "ordersTopic": "o2", "JoinType": "inner", "more": {"a": [1, None]}})
    assert (request.left, request.right, request.join) == ("o2", None, None)
    assert request.ignored == ("usersTopic", "JoinType", "more")


def test_the_fields_are_called_as_the_configuration_says() -> None:
    request = parse(b'{"usersTopic": "u", "ordersTopic": "o"}', ControlFields("usersTopic", "accountsTopic"))
    assert request == Request("u", None, None, ("ordersTopic",))


def test_of_a_field_given_twice_the_last_counts() -> None:
    assert parse(b'{"ordersTopic": "a", "ordersTopic": "b"}', FIELDS).left == "b"


def test_a_request_knows_the_topics_it_names() -> None:
    request = ask({"ordersTopic": "o2"})
    assert request.names("o2")
    assert not request.names("payments")


def test_a_message_is_known_by_its_position() -> None:
    assert ControlMessage(2, 17, 0, b"").id == "2:17"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "not JSON: Expecting value at character 1"),
        (b"rubbish", "not JSON: Expecting value at character 1"),
        (b'{"joinType": "inner"', "not JSON: Expecting ',' delimiter at character 21"),
        (b'{"joinType": "inner', "not JSON: Unterminated string starting at character 14"),
        (b"{} {}", "not JSON: Extra data at character 4"),
        (b"{'joinType': 'inner'}", "not JSON: Expecting property name enclosed in double quotes at character 2"),
        (b'{"a": NaN}', "not JSON: NaN is not a value"),
        (b'{"a": -Infinity}', "not JSON: -Infinity is not a value"),
        (b"\xff\xfe", "not JSON: not UTF-8 text"),
        ("{}".encode("utf-16"), "not JSON: not UTF-8 text"),
        (b'{"a":' * 100_000, "not JSON: nested too deeply"),
    ],
    ids=lambda value: str(value[:20]),
)
def test_what_is_not_json_is_rejected_with_the_place(value: bytes, why: str) -> None:
    assert reason(value) == why


def test_a_byte_order_mark_does_not_matter() -> None:
    assert parse(b'\xef\xbb\xbf{"joinType": "inner"}', FIELDS).join is JoinType.INNER


def test_a_number_of_any_length_in_an_unknown_field_does_not_matter() -> None:
    assert parse(b'{"more": ' + b"1" * 10_000 + b"}", FIELDS).ignored == ("more",)


@pytest.mark.parametrize(
    ("message", "kind"),
    [([], "an array"), ("text", "a string"), (5, "a number"), (1.5, "a number"), (True, "a boolean"), (None, "null")],
)
def test_what_is_not_an_object_is_rejected(message: object, kind: str) -> None:
    assert refusal(message) == f"not a JSON object, but {kind}"


@pytest.mark.parametrize("field", ["ordersTopic", "paymentsTopic", "joinType"])
@pytest.mark.parametrize(
    ("value", "kind"), [(5, "a number"), (False, "a boolean"), (["a"], "an array"), ({"a": 1}, "an object")]
)
def test_a_field_of_the_wrong_type_is_rejected(field: str, value: object, kind: str) -> None:
    assert refusal({field: value}) == f"{field} must be a string, but is {kind}"


def test_another_join_type_is_rejected_with_those_allowed() -> None:
    assert refusal({"joinType": "Cross"}) == (
        "joinType: 'cross' is not a join type; allowed: left, inner, right, full, semi, anti"
        " (natural and left_outer mean left)"
    )


def test_a_long_text_in_place_of_a_join_type_is_not_repeated_whole() -> None:
    assert len(refusal({"joinType": "x" * 100_000})) < 250


@pytest.mark.parametrize("field", ["ordersTopic", "paymentsTopic"])
@pytest.mark.parametrize("name", [".", "..", "a b", "a/b", "ü", "a\0", "\ud800", "x" * 250])
def test_a_topic_name_that_kafka_would_not_take_is_rejected(field: str, name: str) -> None:
    why = refusal({field: name})
    assert why.startswith(f"{field}: ")
    assert "topic name" in why
    assert len(why.encode()) < 250


def test_the_longest_topic_name_is_taken() -> None:
    assert ask({"ordersTopic": "x" * 249}).left == "x" * 249


@pytest.mark.parametrize(
    "message", [{"ordersTopic": "t", "paymentsTopic": "t"}, {"ordersTopic": "payments"}, {"paymentsTopic": " orders "}]
)
def test_two_topics_that_are_the_same_are_rejected(message: dict[str, str]) -> None:
    assert "a topic cannot be joined with itself" in refusal(message)


def test_topics_may_change_places() -> None:
    assert wanted({"ordersTopic": "payments", "paymentsTopic": "orders"}).topics == Topics("payments", "orders")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["ordersTopic", "joinType"]), inner),
    max_leaves=8,
)


@given(st.binary() | st.text().map(str.encode) | JSON.map(lambda value: json.dumps(value).encode()))
@example(b"[" * 100_000)
@example(b"1" * 5_000)
@example(b'{"\xed\xa0\x80": 1}')
def test_any_bytes_are_a_request_or_rejected(value: bytes) -> None:
    try:
        said = str(resolve(NOW, parse(value, FIELDS)))
    except ControlRejected as rejected:
        said = str(rejected)
    assert said.encode()  # a text that a table can hold


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "ordersTopic": st.none() | st.sampled_from(["", " ", "a", " b "]),
            "paymentsTopic": st.none() | st.sampled_from(["", " ", "c", " d "]),
            "joinType": st.none() | st.sampled_from(["", " ", "INNER", " left_outer "]),
        },
    )
)
def test_a_message_sent_twice_asks_for_nothing_more(message: dict[str, str | None]) -> None:
    once = wanted(message)
    assert resolve(once, ask(message)) == once


@pytest.mark.parametrize("join", JoinType)
def test_a_composed_message_asks_for_its_state_whatever_the_current_one_is(join: JoinType) -> None:
    desired = Desired(Topics("payments", "orders.b"), join)
    value = compose(desired, FIELDS)
    assert json.loads(value) == {"ordersTopic": "payments", "paymentsTopic": "orders.b", "joinType": str(join)}
    assert resolve(NOW, parse(value, FIELDS)) == desired
