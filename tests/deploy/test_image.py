"""The Dockerfile, as far as it can be told without Docker."""

import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from turnout import __version__
from turnout.class_archive import class_archive
from turnout.java import Java

REPO = Path(__file__).parent.parent.parent
DOCKERFILE = (REPO / "deploy" / "Dockerfile").read_text()
STATEMENTS = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE)).splitlines()
COPIED = [
    source
    for statement in STATEMENTS
    if statement.startswith("COPY ") and "--from" not in statement
    for source in statement.split()[1:-1]
]


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sys.prefix, "bin", "hadolint")
    done = subprocess.run([hadolint, "-"], input=DOCKERFILE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done


def test_what_is_copied_exists_and_is_all_that_docker_is_sent() -> None:
    assert [source for source in COPIED if not (REPO / source).exists()] == []
    lines = (REPO / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    assert sorted(line[1:] for line in lines if line.startswith("!")) == sorted(COPIED)


def test_packages_are_installed_from_the_locks_that_set_up_uses_and_as_it_does() -> None:
    used = re.findall(r'"\$\{pip\[@\]\}" (.*)', (REPO / "scripts" / "setup").read_text())
    *locked, turnout = [options for options in used if "requirements-dev" not in options]
    installs = [
        part.removeprefix("--require-hashes ") for part in re.findall(r" install (-.*?)(?: && |$)", _runs("pip"))
    ]
    assert installs == [*locked, turnout.replace("-e .", ".")]
    for lock in re.findall(r"-r (\S+)", " ".join(installs)):
        assert "--hash=sha256:" in (REPO / lock).read_text()


def _runs(word: str) -> str:
    return " && ".join(statement for statement in STATEMENTS if statement.startswith("RUN") and f"{word} " in statement)


def test_set_ups_other_steps_are_done_too() -> None:
    for module in ("turnout.java", "turnout.fast_start"):
        assert f"python -m {module}" in _runs("python")
        assert f"python -m {module}" in (REPO / "scripts" / "setup").read_text()


def test_what_is_copied_makes_a_whole_package(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    for name in filter(lambda name: not name.startswith("deploy/"), COPIED):
        if (REPO / name).is_dir():
            shutil.copytree(REPO / name, source / name, symlinks=True)
        else:
            shutil.copy(REPO / name, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(tmp_path)]
    subprocess.run([*pip, *options, "."], cwd=source, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = [file.relative_to(REPO) for file in (REPO / "turnout").rglob("*") if file.is_file()]
    assert {str(file) for file in files if "__pycache__" not in file.parts} <= packed


def test_an_archive_still_fits_when_a_layer_has_cut_the_times_of_its_jars_to_seconds(tmp_path: Path) -> None:
    (seconds,) = re.findall(r"touch --date=@(\d+) ", DOCKERFILE)
    jar = tmp_path / "a.jar"
    jar.touch()
    subprocess.run(["touch", f"--date=@{seconds}", jar], check=True)
    assert jar.stat().st_mtime_ns == int(seconds) * 1_000_000_000
    java = Java(Path("java"), 17, "17")
    built = class_archive(tmp_path, "spark", java, [jar])
    subprocess.run(["touch", f"--date=@{int(jar.stat().st_mtime)}", jar], check=True)
    assert class_archive(tmp_path, "spark", java, [jar]) == built
    assert DOCKERFILE.index("touch --date") < DOCKERFILE.index("python -m turnout.fast_start")


def test_both_stages_have_the_same_java() -> None:
    assert [line for line in STATEMENTS if line.startswith("FROM")][1:] == ["FROM base AS build", "FROM base"]
    assert DOCKERFILE.count("openjdk-17-jre-headless") == 1


def test_it_runs_as_somebody_by_number_and_hears_signals() -> None:
    assert "USER 10001:10001" in STATEMENTS
    assert STATEMENTS[-2:] == ['ENTRYPOINT ["tini", "--", "turnout"]', 'CMD ["run"]']
    assert f"ARG VERSION={__version__}" in STATEMENTS
    assert "EXPOSE 8400" in STATEMENTS


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_health_check_tells_by_its_exit_code(status: int, code: int) -> None:
    with _answering(status) as url:
        done = _health(url)
    assert done.returncode == code
    assert (str(status) in done.stderr) == bool(code)


def test_the_health_check_of_nobody_fails_with_the_reason() -> None:
    done = _health("http://127.0.0.1:1/healthz")
    assert done.returncode == 1
    assert done.stderr == "http://127.0.0.1:1/healthz: <urlopen error [Errno 111] Connection refused>\n"


def _health(url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(REPO / "deploy" / "healthcheck.py")]
    env = {"HEALTH_URL": url, "http_proxy": "http://127.0.0.1:2"}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@contextmanager
def _answering(status: int) -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/healthz"
        server.shutdown()
        thread.join()
