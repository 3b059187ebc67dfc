"""`turnout samples` as a person runs it, against a Kafka that it did not start."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import until
from turnout.kafka.client import Cluster
from turnout.kafka.embedded import EmbeddedBroker

REPO = Path(__file__).parent.parent.parent
CONFIG = """
kafka: {{bootstrap.servers: "{bootstrap}"}}
tables:
  orders:   {{topic: shop.orders, columns: {{orderId: long, quantity: long}}}}
  payments: {{topic: shop.payments, columns: {{orderId: long, amount: double}}}}
join: {{left: orders, right: payments, on: orderId}}
control: {{topic: shop.control}}
"""
DATA = ["shop.orders", "shop.payments", "shop.orders_b", "shop.payments_b"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_samples_go_to_both_pairs_until_a_signal(
    tmp_path: Path, broker: EmbeddedBroker, number: signal.Signals
) -> None:
    file = tmp_path / "turnout.yaml"
    file.write_text(CONFIG.format(bootstrap=broker.bootstrap))
    cluster = Cluster({"bootstrap.servers": broker.bootstrap})
    command = [sys.executable, "-m", "turnout.cli", "samples", "-c", str(file)]
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said == f"Sending samples to {', '.join(DATA)} on {broker.bootstrap} (Ctrl-C ends it)\n"
            assert cluster.missing([*DATA, "shop.control"]) == []
            ends = {topic: sum(cluster.end_offsets(topic).values()) for topic in DATA}
            until(lambda: all(sum(cluster.end_offsets(t).values()) > ends[t] + 60 for t in DATA), "rows keep coming")
            process.send_signal(number)
            _, complaints = process.communicate(timeout=10)
            assert process.returncode == 0
            assert complaints == ""
        finally:
            process.kill()
    reader = cluster.reader(["shop.payments"])
    try:
        rows = [json.loads(record.value or b"") for record in reader.poll(10)]
    finally:
        reader.close()
    assert {tuple(row) for row in rows} == {("orderId", "amount")}


def test_a_kafka_that_does_not_answer_is_one_clear_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "turnout.cli", "samples", "--kafka", "127.0.0.1:1"]
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
