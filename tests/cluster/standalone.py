"""A real Spark cluster on loopback: a master and workers, from PySpark's own jars."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from tests.torture.users_kafka import free_port
from tests.waiting import until
from turnout.descendants import descendants

HOST = "127.0.0.1"
START_SECONDS = 60.0
END_SECONDS = 10.0
HOME = Path(pyspark.__file__).parent


class Part:
    """The master or a worker."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        directory.mkdir(parents=True)
        self._log = directory / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(HOME / "bin" / "spark-class"), *arguments],
                cwd=directory,
                env={**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": HOST},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def until_said(self, text: str) -> None:
        until(lambda: text in self._log.read_text(), f"{text!r} in {self._log}", START_SECONDS)

    def kill(self) -> None:
        """As when its machine is lost: with the executors that it runs."""
        executors = descendants(self._process.pid)
        self._process.kill()
        self._process.wait(END_SECONDS)
        for executor in executors:
            try:
                os.kill(executor, signal.SIGKILL)
            except ProcessLookupError:
                continue


class StandaloneCluster:
    def __init__(self, directory: Path, port: int) -> None:
        self._directory = directory
        self.master = f"spark://{HOST}:{port}"
        self.workers: list[Part] = []
        main = "org.apache.spark.deploy.master.Master"
        self._master = Part(directory / "master", main, "--host", HOST, "--port", str(port), "--webui-port", "0")
        self._master.until_said("New state: ALIVE")

    def add_worker(self, cores: int) -> None:
        directory = self._directory / f"worker-{len(self.workers)}"
        main = "org.apache.spark.deploy.worker.Worker"
        size = ("--cores", str(cores), "--memory", "1g")
        worker = Part(directory, main, "--host", HOST, "--webui-port", "0", *size, self.master)
        self.workers.append(worker)
        worker.until_said("Successfully registered with master")

    def end(self) -> None:
        for part in (*self.workers, self._master):
            part.kill()


@contextmanager
def standalone_cluster(directory: Path, cores: tuple[int, ...]) -> Iterator[StandaloneCluster]:
    """With a worker for each number of cores."""
    with ExitStack() as stack:
        cluster = StandaloneCluster(directory, free_port())
        stack.callback(cluster.end)
        for its_cores in cores:
            cluster.add_worker(its_cores)
        yield cluster
