from turnout.client import Change, Event, Row, Snapshot
from turnout.commands.unseen import Unseen


def line(text: str) -> Row:
    return {"ts": "2026-01-01T00:00:00.000Z", "level": "INFO", "msg": text}


def shown(*events: Event) -> list[str]:
    unseen = Unseen()
    return [row["msg"] for event in events for row in unseen.of(event)]


def test_a_snapshot_after_a_cut_adds_what_was_missed() -> None:
    first = Snapshot(1, {"1": line("a"), "2": line("b")})
    assert shown(
        first, Change(1, {"3": line("c")}, []), Snapshot(1, {**first.rows, "3": line("c"), "4": line("d")})
    ) == [
        "a",
        "b",
        "c",
        "d",
    ]


def test_a_server_that_was_restarted_counts_anew() -> None:
    assert shown(Snapshot(1, {"1": line("a"), "2": line("b")}), Snapshot(0, {"1": line("x")})) == ["a", "b", "x"]


def test_lines_that_the_table_has_dropped_are_forgotten() -> None:
    unseen = Unseen()
    unseen.of(Snapshot(1, {"1": line("a")}))
    unseen.of(Change(1, {"2": line("b")}, ["1"]))
    assert unseen.of(Change(1, {"1": line("a")}, [])) == [line("a")]
