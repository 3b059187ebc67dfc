import subprocess
import sys
from pathlib import Path

from turnout.fast_start import make_archives
from turnout.java import JavaParts, find_java
from turnout.kafka.embedded import CONSOLE_FILE, EmbeddedBroker, broker_archive
from turnout.pipeline.session import spark_archive

FROM_THE_ARCHIVE = "source: shared objects file (top)"
FROM_A_JAR = ".jar"

# In a process of its own: the tests have a session already.
START_SPARK = """
import sys
from pathlib import Path
from turnout.java import java_parts
from turnout.pipeline.session import start_session

loaded, log = sys.argv[1:]
conf = {"spark.driver.extraJavaOptions": f"-Xlog:class+load:file={loaded}"}
start_session("local", conf, java_parts(print).spark, Path(log)).stop()
"""


def test_archives_are_made_once_and_a_broker_starts_from_its_own(parts: JavaParts, tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    jars = tuple(tmp_path / "broker" / jar.name for jar in parts.broker)
    for jar, original in zip(jars, parts.broker, strict=True):
        jar.symlink_to(original)
    said: list[str] = []
    assert broker_archive(find_java(), jars).flags == []

    elsewhere = JavaParts(spark=parts.spark, broker=jars)  # Spark's was made by set-up
    make_archives(elsewhere, said.append)
    make_archives(elsewhere, said.append)
    assert said == ["Preparing a fast start for Kafka (once) …"]
    assert broker_archive(find_java(), jars).flags

    # The JVM does not start if it cannot use the archive.
    data = tmp_path / "kafka"
    with EmbeddedBroker(data, jars, jvm_flags=["-Xshare:on"]) as broker:
        assert broker.alive
    assert (data / CONSOLE_FILE).read_text() == ""


def test_spark_starts_from_its_archive(parts: JavaParts, tmp_path: Path) -> None:
    assert spark_archive(find_java(), parts.spark).file.exists()
    loaded = tmp_path / "loaded.log"
    subprocess.run([sys.executable, "-c", START_SPARK, loaded, tmp_path / "spark.log"], timeout=120, check=True)
    lines = loaded.read_text().splitlines()
    archived = sum(FROM_THE_ARCHIVE in line for line in lines)
    read = sum(line.endswith(FROM_A_JAR) for line in lines)
    assert archived > 5_000
    assert archived > 20 * read


START_WITH_OWN_CLASSES = """
import sys
from pathlib import Path
from turnout.java import java_parts
from turnout.pipeline.session import start_session

own, log = sys.argv[1:]
session = start_session("local", {"spark.driver.extraClassPath": own}, java_parts(print).spark, Path(log))
loader = session._jvm.java.lang.ClassLoader
print("own:", loader.getSystemResource("own.properties"))
print("connector:", loader.getSystemResource("org/apache/spark/sql/kafka010/KafkaSourceProvider.class"))
session.stop()
"""


def test_a_users_own_classes_are_there_beside_the_connector(parts: JavaParts, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.properties").write_text("a=b\n")
    command = [sys.executable, "-c", START_WITH_OWN_CLASSES, str(tmp_path / "own"), str(tmp_path / "spark.log")]
    said = subprocess.run(command, timeout=120, check=True, capture_output=True, text=True).stdout
    assert f"own: file:{tmp_path}/own/own.properties" in said
    assert f"connector: jar:file:{parts.spark[0].parent}" in said
