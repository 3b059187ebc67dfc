"""The lease as a game of several that read the same log, each at its own pace."""

from dataclasses import dataclass, field

import hypothesis.strategies as st
from hypothesis import given

from turnout.bus.lease import Act, Entry, Tenure

ACTORS = ("a", "b", "c")


def entry(act: Act, term: int, holder: str) -> Entry:
    return Entry(act, term, holder, f"host {holder}", "owner")


def after(*entries: Entry) -> Tenure:
    tenure = Tenure()
    for one in entries:
        tenure = tenure.after(one)
    return tenure


def test_of_several_claims_of_a_term_the_first_counts() -> None:
    tenure = after(entry(Act.CLAIM, 1, "a"), entry(Act.CLAIM, 1, "b"))
    assert (tenure.term, tenure.holder, tenure.name) == (1, "a", "host a")


def test_a_newer_term_takes_the_lease_from_one_that_was_silent_and_it_does_not_get_it_back_by_renewing() -> None:
    tenure = after(entry(Act.CLAIM, 1, "a"), entry(Act.CLAIM, 2, "b"), entry(Act.RENEW, 1, "a"))
    assert (tenure.term, tenure.holder) == (2, "b")


def test_who_lets_go_leaves_it_to_the_next_term() -> None:
    released = after(entry(Act.CLAIM, 1, "a"), entry(Act.RELEASE, 1, "a"))
    assert (released.term, released.holder) == (1, None)
    assert released.after(entry(Act.CLAIM, 2, "b")).holder == "b"
    assert after(entry(Act.CLAIM, 1, "a"), entry(Act.RELEASE, 1, "b")).holder == "a", "not by another one"


def test_who_begins_to_read_late_learns_from_the_next_renewal_who_leads() -> None:
    assert after(entry(Act.CLAIM, 7, "b")).holder is None, "whether it was the first of its term is not known"
    assert after(entry(Act.CLAIM, 7, "b"), entry(Act.RENEW, 7, "a")).holder == "a"


@dataclass
class Actor:
    """Claims and renews by what it has read so far, as a process would that is frozen now and then."""

    name: str
    read: int = 0
    tenure: Tenure = field(default_factory=Tenure)
    held: set[int] = field(default_factory=set)

    def take(self, log: list[Entry], count: int) -> None:
        for one in log[self.read : self.read + count]:
            self.tenure = self.tenure.after(one)
            self.read += 1
            if self.tenure.holder == self.name:
                self.held.add(self.tenure.term)

    def write(self, act: Act) -> Entry | None:
        if act is Act.CLAIM and self.tenure.holder != self.name:
            return entry(act, self.tenure.term + 1, self.name)
        leads = self.tenure.holder == self.name
        return entry(act, self.tenure.term, self.name) if act is not Act.CLAIM and leads else None


Step = tuple[int, Act | int]
steps = st.lists(st.tuples(st.integers(0, len(ACTORS) - 1), st.sampled_from(list(Act)) | st.integers(1, 5)))


@given(steps)
def test_no_two_ever_hold_the_same_term_and_in_the_end_all_agree(steps: list[Step]) -> None:
    log: list[Entry] = []
    actors = [Actor(name) for name in ACTORS]
    for number, step in steps:
        actor = actors[number]
        if isinstance(step, int) and not isinstance(step, Act):
            actor.take(log, step)
        elif (written := actor.write(Act(step))) is not None:
            log.append(written)
    for actor in actors:
        actor.take(log, len(log))
    held = [term for actor in actors for term in actor.held]
    assert len(held) == len(set(held))
    assert len({actor.tenure for actor in actors}) == 1
