from pathlib import Path

import pytest

from turnout.bus.home import home_of
from turnout.config import Config, load
from turnout.errors import TurnoutError

BUS = "bus: {bootstrap.servers: 'bus.example.com:9092'}\n"


def config(state_dir: Path, more: str = "") -> Config:
    state_dir.mkdir(exist_ok=True)
    file = state_dir / "turnout.yaml"
    file.write_text(f"state_dir: {state_dir}\n{more}")
    return load(file, env={})


@pytest.mark.parametrize("more", ["", BUS, "spark: {checkpoints: 's3a://bucket/turnout'}\n"])
def test_a_state_directory_is_a_home_and_the_same_one_after_a_restart(tmp_path: Path, more: str) -> None:
    home = home_of(config(tmp_path / "a", more))
    assert home.place == str(tmp_path / "a")
    assert home_of(config(tmp_path / "a", more)) == home
    assert home_of(config(tmp_path / "b", more)).id != home.id


def test_with_a_bus_and_checkpoints_elsewhere_the_directory_does_not_matter(tmp_path: Path) -> None:
    first, same, other = (
        home_of(config(tmp_path / name, f"{BUS}spark: {{checkpoints: '{url}'}}\n"))
        for name, url in (("a", "s3a://bucket/x"), ("b", "s3a://bucket/x/"), ("c", "s3a://bucket/y"))
    )
    assert first == same
    assert first.place == "s3a://bucket/x"
    assert other.id != first.id
    assert not (tmp_path / "a" / "owner").exists()


def test_a_directory_that_cannot_be_written_is_said_to_be_so(tmp_path: Path) -> None:
    settings = config(tmp_path / "a")
    (tmp_path / "a" / "owner").mkdir()
    with pytest.raises(TurnoutError, match=r"owner cannot be read or written: .*Make the directory writable"):
        home_of(settings)
