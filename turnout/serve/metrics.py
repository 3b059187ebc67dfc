"""Prometheus' view of the service, worked out when it is asked for."""

from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from turnout.service import Service


class _ServiceCollector(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        registry = self._service.tables.registry
        rows = GaugeMetricFamily("turnout_table_rows", "Rows of a public table", labels=["table"])
        for name in registry.tables:
            rows.add_metric([name], registry.snapshot(name).rows.height)
        lag = GaugeMetricFamily("turnout_topic_lag", "Messages not in the tables yet", labels=["topic"])
        for topic, messages in self._service.lag().items():
            if messages is not None:
                lag.add_metric([topic], messages)
        yield rows
        yield lag
        yield GaugeMetricFamily("turnout_generation", "The generation shown", value=registry.generation)
        yield GaugeMetricFamily("turnout_live", "1 if a generation is live", value=float(self._service.ready))
        yield GaugeMetricFamily("turnout_uptime_seconds", "Since the start", value=self._service.uptime_seconds)


def exposition(service: Service) -> tuple[bytes, str]:
    registry = CollectorRegistry()
    registry.register(_ServiceCollector(service))
    return generate_latest(registry), CONTENT_TYPE_LATEST
