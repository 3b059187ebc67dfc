from collections.abc import Iterator
from typing import cast

import pytest

from tests.waiting import until
from turnout.bus import claims as claiming
from turnout.bus.claims import Claim, Claimant, Claims
from turnout.bus.home import Home
from turnout.errors import KafkaError


class FakeClaims:
    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.tries = 0
        self.made: list[Claim] = []

    def make(self, claim: Claim) -> None:
        self.tries += 1
        if self.failure is not None:
            raise self.failure
        self.made.append(claim)


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClaims]:
    monkeypatch.setattr(claiming, "CLAIM_SECONDS", 0.01)
    claims = FakeClaims()
    claimant = Claimant(cast(Claims, claims), Home("id", "here"), lambda: ["b", "a"])
    claimant.start()
    yield claims
    claimant.stop()


@pytest.mark.parametrize("failure", [KafkaError("no answer"), ZeroDivisionError("a defect")])
def test_what_could_not_be_claimed_is_claimed_later_and_told_once(
    claims: FakeClaims, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    claims.failure = failure
    tries = claims.tries
    until(lambda: claims.tries > tries + 3, "it goes on trying")
    claims.failure, before = None, len(claims.made)
    until(lambda: len(claims.made) > before, "it is claimed")
    assert claims.made[-1].pipelines == ("a", "b")
    [record] = caplog.records
    assert (record.exc_info is not None) == isinstance(failure, ZeroDivisionError), "a defect with a traceback"
