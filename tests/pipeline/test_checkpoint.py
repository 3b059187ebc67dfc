from pathlib import Path

from turnout.pipeline.checkpoint import clear_uncommitted, committed

OFFSETS = """v1
{"batchWatermarkMs":0,"conf":{}}
{"users":{"0":5,"1":9007199254740993}}
{"accounts":{"0":7}}"""


def commit(checkpoint: Path, batch: int, offsets: str) -> None:
    for name, content in (("offsets", offsets), ("commits", "v1")):
        (checkpoint / name).mkdir(parents=True, exist_ok=True)
        (checkpoint / name / str(batch)).write_text(content)
        (checkpoint / name / f".{batch}.crc").write_text("x")


def test_nothing_is_committed_before_the_first_commit(tmp_path: Path) -> None:
    assert committed(tmp_path) == {}


def test_the_newest_commit_counts(tmp_path: Path) -> None:
    commit(tmp_path, 9, OFFSETS.replace("5", "4"))
    commit(tmp_path, 10, OFFSETS)
    (tmp_path / "offsets" / "11").write_text(OFFSETS.replace("5", "6"))  # begun, not committed
    assert committed(tmp_path) == {"users": {0: 5, 1: 2**53 + 1}, "accounts": {0: 7}}


def test_a_source_without_offsets_is_left_out(tmp_path: Path) -> None:
    commit(tmp_path, 0, OFFSETS.replace('{"users":{"0":5,"1":9007199254740993}}', "-"))
    assert committed(tmp_path) == {"accounts": {0: 7}}


def test_a_checkpoint_that_was_never_committed_to_is_cleared(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    clear_uncommitted(checkpoint)  # there is none at all
    (checkpoint / "commits").mkdir(parents=True)
    (checkpoint / "commits" / ".0.crc").write_text("x")
    clear_uncommitted(checkpoint)
    assert not checkpoint.exists()


def test_a_checkpoint_with_a_commit_stays(tmp_path: Path) -> None:
    commit(tmp_path, 0, OFFSETS)
    clear_uncommitted(tmp_path)
    assert committed(tmp_path)
