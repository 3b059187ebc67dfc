import itertools
import threading
from pathlib import Path

import pytest

from turnout.made_once import made_once


def test_it_is_made_up_once_and_only_ours(tmp_path: Path) -> None:
    file, numbers = tmp_path / "key", itertools.count()
    contents = [made_once(file, lambda: b"%d" % next(numbers)) for _ in range(3)]
    assert contents == [b"0", b"0", b"0"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_all_that_start_at_once_get_the_same(tmp_path: Path) -> None:
    file, together, found = tmp_path / "key", threading.Barrier(8), list[bytes]()

    def start(number: int) -> None:
        together.wait()
        found.append(made_once(file, lambda: b"%d" % number * 1000))

    threads = [threading.Thread(target=start, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert set(found) == {file.read_bytes()}
    assert len(found[0]) == 1000
    assert list(tmp_path.iterdir()) == [file]


def test_one_that_cannot_be_made_up_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> bytes:
        raise RuntimeError("no randomness")

    with pytest.raises(RuntimeError):
        made_once(tmp_path / "key", fail)
    assert list(tmp_path.iterdir()) == []
