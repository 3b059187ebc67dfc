from pathlib import Path

from turnout.java import JavaParts, find_java
from turnout.kafka.class_archive import archive_flags, make_archive
from turnout.kafka.embedded import CONSOLE_FILE, EmbeddedBroker


def test_an_archive_is_made_once_and_a_broker_starts_from_it(parts: JavaParts, tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    jars = [tmp_path / "broker" / jar.name for jar in parts.broker]
    for jar, original in zip(jars, parts.broker, strict=True):
        jar.symlink_to(original)
    said: list[str] = []
    assert archive_flags(find_java(), jars) == []

    make_archive(jars, said.append)
    make_archive(jars, said.append)
    assert len(said) == 1
    assert archive_flags(find_java(), jars)

    # The JVM says so on its console if it cannot use the archive.
    data = tmp_path / "kafka"
    with EmbeddedBroker(data, jars, jvm_flags=["-Xshare:on"]) as broker:
        assert broker.alive
    assert (data / CONSOLE_FILE).read_text() == ""
