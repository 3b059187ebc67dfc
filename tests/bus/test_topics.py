import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.bus.topics import LONGEST_NAME, BusTopics

ID = "0123456789ab"
prefixes = st.text("abc.-_0", min_size=1, max_size=8)
ids = st.text("0123456789abcdef", min_size=12, max_size=12)


@given(prefixes, ids)
def test_a_pipeline_s_topics_are_known_to_be_its_own(prefix: str, pipeline: str) -> None:
    topics = BusTopics(prefix)
    for topic in (topics.changelog(pipeline), topics.rejected(pipeline)):
        assert topics.pipeline(topic) == pipeline
        assert topics.owns(topic)
        assert len(topic) <= len(prefix + LONGEST_NAME)
    assert topics.owns(topics.claims)
    assert topics.pipeline(topics.claims) is None


@pytest.mark.parametrize(
    "topic",
    [
        f"other-{ID}-changelog",
        f"turnout-{ID}",
        f"turnout-{ID}-rejected-too",
        f"turnout-{ID[:-1]}-changelog",
        f"turnout-{ID.upper()}-changelog",
        f"turnout-b-{ID}-changelog",
        f"{ID}-changelog",
        "turnout-users",
        "turnout-",
        "users",
    ],
)
def test_what_somebody_else_may_have_made_is_nobody_s(topic: str) -> None:
    assert BusTopics().pipeline(topic) is None
    assert not BusTopics().owns(topic)
