"""Metrics of the processes: this one, Spark's and the embedded broker's.

Spark itself is not asked: a JVM that hangs would hold up the answer, and in real-time mode a query tells of its
progress once in five minutes. Whether it runs is known without, and how far it has come is told by the changelog.
"""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from turnout.descendants import descendants
from turnout.memory import limit_bytes, resident_bytes
from turnout.service import Service


def process_metrics(service: Service) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "turnout_query_active", "1 if the Spark query of the generation shown runs", value=float(service.healthy)
    )
    restarts = CounterMetricFamily(
        "turnout_process_restarts", "How often Spark or the embedded broker was started again", labels=["process"]
    )
    for process, count in service.restarts.items():
        restarts.add_metric([process], count)
    yield restarts
    yield from _memory(service)


def _memory(service: Service) -> Iterator[Metric]:
    up = GaugeMetricFamily("turnout_process_up", "1 if the process runs", labels=["process"])
    held = GaugeMetricFamily("turnout_memory_bytes", "Resident memory of a process", labels=["process"])
    processes = service.processes
    for process in ("turnout", *service.restarts):
        up.add_metric([process], float(process in processes))
        if process in processes:
            pid = processes[process]
            # Spark may have started others; those of this process are listed by themselves.
            memory = resident_bytes([pid, *(descendants(pid) if process != "turnout" else ())])
            if memory is not None:
                held.add_metric([process], memory)
    yield up
    yield held
    limit = GaugeMetricFamily("turnout_memory_limit_bytes", "What the container, the unit or the machine allows in all")
    if (most := limit_bytes()) is not None:
        limit.add_metric([], most)
    yield limit
