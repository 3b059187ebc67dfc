"""The processor's time of processes, also of those that end meanwhile."""

import subprocess
import sys

from bench.cpu import CpuMeter, resident_mb

BUSY = "while True: pass"


def test_a_process_that_has_ended_has_taken_what_it_had() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        meter = CpuMeter({"busy": [process.pid]})
        while meter.microseconds_per(1)["busy"] < 50_000:
            pass
        process.kill()
    assert meter.microseconds_per(1)["busy"] >= 50_000
    assert meter.cores()["busy"] > 0
    assert resident_mb([process.pid]) == 0
