import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.orchestrator.fakes import DEFAULT
from turnout.control.message import Request
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.past import Past, folded
from turnout.schema import JoinType, Topics

B = Desired(Topics("left_b", "right_b"), JoinType.LEFT)
C = Desired(Topics("left", "right"), JoinType.INNER)


def past(*applied: Desired) -> Past:
    past = Past(applied[0])
    for desired in applied[1:]:
        past = past.applied(desired)
    return past


@pytest.mark.parametrize(
    ("applied", "desired", "previous"),
    [
        ([DEFAULT], DEFAULT, None),
        ([DEFAULT, DEFAULT], DEFAULT, None),
        ([DEFAULT], B, DEFAULT),
        ([DEFAULT, B], B, DEFAULT),
        ([DEFAULT, B], C, B),
        ([DEFAULT, B, C], C, B),
        ([DEFAULT, B, B], B, DEFAULT),
        ([DEFAULT, B, DEFAULT], DEFAULT, B),
        ([DEFAULT, B, DEFAULT, C], C, DEFAULT),
    ],
)
def test_the_previous_state_is_the_last_that_was_applied_and_is_not_desired(
    applied: list[Desired], desired: Desired, previous: Desired | None
) -> None:
    assert past(*applied).before(desired) == previous


@given(st.lists(st.sampled_from([DEFAULT, B, C]), min_size=1), st.sampled_from([DEFAULT, B, C]))
def test_two_states_tell_as_much_as_all_of_them(applied: list[Desired], desired: Desired) -> None:
    others = [state for state in applied if state != desired]
    assert past(*applied).before(desired) == (others[-1] if others else None)


def test_requests_lead_through_states_that_build_upon_each_other() -> None:
    requests = [Request("left_b", None, None), Request(None, None, JoinType.FULL), Request(None, None, None)]
    past = folded(DEFAULT, requests, lambda _: True)
    assert past.latest == Desired(Topics("left_b", "right"), JoinType.FULL)
    assert past.earlier == Desired(Topics("left_b", "right"), JoinType.LEFT)


def test_states_that_cannot_be_shown_are_passed_over() -> None:
    requests = [Request("left_b", None, None), Request("gone", None, JoinType.FULL), Request("left", None, None)]
    past = folded(DEFAULT, requests, lambda desired: desired.topics.left != "gone")
    assert past.latest == Desired(DEFAULT.topics, JoinType.FULL)
    assert past.earlier == Desired(Topics("left_b", "right"), JoinType.LEFT)


def test_without_requests_there_is_the_default_alone() -> None:
    assert folded(DEFAULT, [], lambda _: True) == Past(DEFAULT)
