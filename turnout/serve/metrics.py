"""Prometheus' view of the service, worked out when it is asked for.

Whoever counts does so in plain numbers; here they get their names.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, GCCollector, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from turnout.serve.audience import Audience
from turnout.serve.metrics_data import data_metrics
from turnout.serve.metrics_processes import process_metrics
from turnout.serve.metrics_switches import switch_metrics
from turnout.serve.metrics_viewers import viewer_metrics
from turnout.service import Service


class _Collector(Collector):
    def __init__(self, *sources: Callable[[], Iterable[Metric]]) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        for source in self._sources:
            yield from source()


def exposition(service: Service, audience: Audience | None = None) -> tuple[bytes, str]:
    viewers = audience or Audience()
    registry = CollectorRegistry()
    registry.register(
        _Collector(
            lambda: _overview(service),
            lambda: data_metrics(service),
            lambda: switch_metrics(service),
            lambda: viewer_metrics(viewers),
            lambda: process_metrics(service),
        )
    )
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _overview(service: Service) -> Iterator[Metric]:
    ready = service.ready and not service.stale()
    yield GaugeMetricFamily("turnout_live", "1 if a generation is live", value=float(service.ready))
    leads = "1 if this Turnout runs the pipelines, 0 if it follows one that does"
    yield GaugeMetricFamily("turnout_leading", leads, value=float(service.leads))
    yield GaugeMetricFamily("turnout_ready", "1 if /readyz says that it is ready", value=float(ready))
    yield GaugeMetricFamily("turnout_uptime_seconds", "Since the start", value=service.uptime_seconds)
