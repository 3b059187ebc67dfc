from pathlib import Path

from turnout.config import SparkConfig
from turnout.pipeline.session import LOCAL_SLOTS, _local_master, _with_jars, class_path


def test_the_class_path_is_the_same_on_every_file_system() -> None:
    ours = [Path("/jars/b.jar"), Path("/jars/a.jar")]
    first, second, *shipped = _with_jars({}, "local[2]", ours)["spark.driver.extraClassPath"].split(":")
    assert [first, second] == ["/jars/b.jar", "/jars/a.jar"]
    assert [str(jar) for jar in class_path(ours)[2:]] == shipped
    assert shipped == sorted(shipped)
    assert all(jar.endswith(".jar") for jar in shipped), "no wildcard: its order is the file system's"
    assert any("spark-core" in jar for jar in shipped)


def test_own_classes_come_first() -> None:
    paths = _with_jars({"spark.driver.extraClassPath": "/mine/*"}, "local", [Path("/jars/a.jar")])
    assert paths["spark.driver.extraClassPath"].startswith("/mine/*:/jars/a.jar:")


def test_a_cluster_is_sent_what_it_lacks_and_no_more() -> None:
    ours = [Path("/jars/a.jar")]
    settings = _with_jars({"spark.jars": "mine.jar"}, "spark://host:7077", ours)
    assert settings["spark.jars"] == "mine.jar,/jars/a.jar"
    assert settings["spark.driver.extraClassPath"] == _with_jars({}, "local", ours)["spark.driver.extraClassPath"]


def test_the_configuration_says_how_many_slots_local_mode_has() -> None:
    assert _local_master("local[*]") == _local_master("local") == f"local[{LOCAL_SLOTS}]"
    assert _local_master("local[256]") == "local[256]"
    assert f"local[*], which has {LOCAL_SLOTS} task slots" in str(SparkConfig.model_fields["master"].description)
