import json
import logging
from pathlib import Path

import pytest

from turnout.errors import TurnoutError
from turnout.pipeline.manifest import Manifest, Manifests, Shown, fingerprint
from turnout.pipeline.manifest_files import ManifestFiles
from turnout.schema import ColumnType, JoinSchema, JoinType, TableSchema, Topics

TOPICS = Topics("users", "accounts")
IDS = {"users": "a", "accounts": "b"}
SHOWN = Shown(7, JoinType.ANTI)
STARTS = {"users": {0: 5, 1: 2**53 + 1}, "accounts": {0: 0}}
LEFT = TableSchema("users", {"id": ColumnType.LONG, "name": ColumnType.STRING}, keep=100)
RIGHT = TableSchema("accounts", {"id": ColumnType.LONG, "balance": ColumnType.DOUBLE}, keep=100)
SCHEMA = JoinSchema(LEFT, RIGHT, key="id")


@pytest.fixture
def manifests(tmp_path: Path) -> Manifests:
    return at(tmp_path)


def at(state_dir: Path) -> Manifests:
    return Manifests(ManifestFiles(state_dir))


def file(state_dir: Path, manifest: Manifest) -> Path:
    return state_dir / "pipelines" / manifest.id / "manifest.json"


def test_before_the_first_pipeline_there_is_none(manifests: Manifests) -> None:
    assert list(manifests.all()) == []


def test_a_manifest_is_found_again_after_a_restart(manifests: Manifests, tmp_path: Path) -> None:
    manifest = manifests.new(TOPICS, STARTS, IDS, SCHEMA)
    (found,) = at(tmp_path).all()
    assert found == manifest
    assert found.topics == TOPICS
    assert found.starts == {"users": {"0": 5, "1": 2**53 + 1}, "accounts": {"0": 0}}
    assert found.fingerprint == fingerprint(SCHEMA)
    assert found.topic_ids == IDS
    assert found.shown is None


def test_two_pipelines_on_the_same_topics_share_nothing(manifests: Manifests) -> None:
    first, second = manifests.new(TOPICS, STARTS, IDS, SCHEMA), manifests.new(TOPICS, STARTS, IDS, SCHEMA)
    for own in ("id", "changelog_topic", "rejected_topic"):
        assert getattr(first, own) != getattr(second, own)
    assert sorted(found.id for found in manifests.all()) == sorted([first.id, second.id])


def test_the_topics_of_a_pipeline_are_named_after_it(manifests: Manifests) -> None:
    manifest = manifests.new(TOPICS, STARTS, IDS, SCHEMA)
    assert manifest.changelog_topic == f"turnout-{manifest.id}-changelog"
    assert manifest.rejected_topic == f"turnout-{manifest.id}-rejected"


def test_a_pipeline_that_was_shown_is_known_as_such_after_a_restart(manifests: Manifests, tmp_path: Path) -> None:
    manifest, other = manifests.new(TOPICS, STARTS, IDS, SCHEMA), manifests.new(TOPICS, STARTS, IDS, SCHEMA)
    manifests.mark_shown(manifest, SHOWN)
    assert {found.id: found.shown for found in at(tmp_path).all()} == {manifest.id: SHOWN, other.id: None}
    assert not file(tmp_path, manifest).with_suffix(".json.part").exists()


def test_a_checkpoint_has_an_absolute_path_because_spark_has_its_own_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint = ManifestFiles(Path("state")).checkpoint("0123456789ab")
    assert checkpoint == tmp_path / "state" / "pipelines" / "0123456789ab" / "checkpoint"


def test_what_is_deleted_is_gone_and_may_be_deleted_again(manifests: Manifests, tmp_path: Path) -> None:
    gone, stays = manifests.new(TOPICS, STARTS, IDS, SCHEMA), manifests.new(TOPICS, STARTS, IDS, SCHEMA)
    checkpoint = ManifestFiles(tmp_path).checkpoint(gone.id)
    checkpoint.mkdir()
    (checkpoint / "offsets").write_text("x")
    manifests.delete(gone)
    manifests.delete(gone)
    assert not file(tmp_path, gone).parent.exists()
    assert list(manifests.all()) == [stays]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"id": "',
        b"\xff",
        b"null",
        b"[]",
        b"{}",
        b'{"id": "000000000000", TOPICS, "starts": {}, "topic_ids": {}, "fingerprint": ""}',
        b'{"id": ID, "topics": {"left": "a"}, "starts": {}, "topic_ids": {}, "fingerprint": ""}',
        b'{"id": ID, TOPICS, "starts": {"a": {"0": "x"}}, "topic_ids": {}, "fingerprint": ""}',
        b'{"id": ID, TOPICS, "starts": [], "topic_ids": {}, "fingerprint": ""}',
        b'{"id": ID, TOPICS, "starts": {}, "topic_ids": {}, "fingerprint": "", "shown": "yes"}',
        None,
    ],
    ids=str,
)
def test_a_manifest_that_cannot_be_read_is_told_of_once_and_left_to_be_swept(
    manifests: Manifests, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    broken, whole = manifests.new(TOPICS, STARTS, IDS, SCHEMA), manifests.new(TOPICS, STARTS, IDS, SCHEMA)
    manifests.mark_shown(broken, SHOWN)
    path = file(tmp_path, broken)
    if content is None:
        path.unlink()
    else:
        topics = b'"topics": {"left": "a", "right": "b"}'
        path.write_bytes(content.replace(b"ID", json.dumps(broken.id).encode()).replace(b"TOPICS", topics))
    with caplog.at_level(logging.WARNING):
        found = {manifest.id: manifest for manifest in manifests.all()}
        assert {manifest.id for manifest in manifests.all()} == found.keys() == {broken.id, whole.id}
    (warning,) = caplog.messages
    assert warning.startswith(f"A pipeline cannot be resumed, because of its manifest {path}: ")
    assert "\n" not in warning
    assert found[broken.id].shown is None
    assert found[broken.id].changelog_topic == broken.changelog_topic
    assert found[whole.id] == whole
    manifests.delete(found[broken.id])
    assert list(manifests.all()) == [whole]


def test_what_is_not_a_pipelines_directory_is_left_alone(manifests: Manifests, tmp_path: Path) -> None:
    manifest = manifests.new(TOPICS, STARTS, IDS, SCHEMA)
    pipelines = tmp_path / "pipelines"
    (pipelines / "notes").mkdir()
    (pipelines / "notes" / "manifest.json").write_text("{}")
    (pipelines / "0123456789ab").write_text("a file")
    assert list(manifests.all()) == [manifest]


def test_a_manifest_that_may_not_be_read_is_an_error_and_not_lost(manifests: Manifests, tmp_path: Path) -> None:
    manifest = manifests.new(TOPICS, STARTS, IDS, SCHEMA)
    file(tmp_path, manifest).unlink()
    file(tmp_path, manifest).mkdir()  # as good as one that may not be read, for root too
    with pytest.raises(TurnoutError, match=r"manifest\.json cannot be read: .*\. Make it readable, or remove it"):
        list(manifests.all())


def test_a_state_directory_that_cannot_be_written_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "pipelines").write_text("a file where a directory should be")
    with pytest.raises(TurnoutError, match=r"the state directory cannot be written: .*manifest\.json: Not a directory"):
        at(tmp_path).new(TOPICS, STARTS, IDS, SCHEMA)


def other(table: TableSchema, **fields: object) -> TableSchema:
    return TableSchema(**{"name": table.name, "columns": table.columns, "keep": table.keep, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "schema",
    [
        JoinSchema(other(LEFT, keep=1), RIGHT, "id"),
        JoinSchema(LEFT, other(RIGHT, keep=99), "id"),
        JoinSchema(other(LEFT, columns={"id": ColumnType.LONG}), RIGHT, "id"),
        JoinSchema(other(LEFT, columns={"id": ColumnType.LONG, "name": ColumnType.BOOLEAN}), RIGHT, "id"),
        JoinSchema(other(LEFT, columns=dict(reversed([*LEFT.columns.items()]))), RIGHT, "id"),
        JoinSchema(other(LEFT, name="people"), RIGHT, "id"),
        JoinSchema(LEFT, RIGHT, "name"),
        JoinSchema(RIGHT, LEFT, "id"),
    ],
    ids=["keep", "keep right", "columns", "a type", "their order", "a name", "key", "sides"],
)
def test_a_fingerprint_is_another_where_a_checkpoint_could_not_be_read(schema: JoinSchema) -> None:
    assert fingerprint(schema) != fingerprint(SCHEMA)


def test_a_fingerprint_stays_the_same_from_run_to_run() -> None:
    same = JoinSchema(other(LEFT, columns=dict(LEFT.columns)), other(RIGHT), "id")
    assert fingerprint(same) == fingerprint(SCHEMA) == "011ab1eed26e4bb4"


def test_a_fingerprint_does_not_depend_on_how_many_rows_a_table_may_have() -> None:
    assert fingerprint(JoinSchema(other(LEFT, max_rows=1), other(RIGHT, max_rows=2), "id", max_rows=3)) == fingerprint(
        SCHEMA
    )
