"""Metrics of what is shown: how much, how fresh, how far behind."""

from collections.abc import Iterator
from math import isinf

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from turnout.measures import Histogram
from turnout.service import Service


def data_metrics(service: Service) -> Iterator[Metric]:
    yield _rows(service)
    yield from _topics(service)
    yield from _freshness(service)
    yield _changelog(service)
    rejected = CounterMetricFamily(
        "turnout_rejected_records", "Records of a topic that could not be used", labels=["topic"]
    )
    for topic, count in sorted(service.tables.rejections.copy().items()):
        rejected.add_metric([topic], count)
    yield rejected


def histogram(name: str, meaning: str, values: Histogram) -> Metric:
    spread = values.read()
    buckets = [("+Inf" if isinf(bound) else str(bound), count) for bound, count in spread.buckets]
    return HistogramMetricFamily(name, meaning, buckets=buckets, sum_value=spread.total)


def _rows(service: Service) -> Metric:
    registry = service.tables.registry
    rows = GaugeMetricFamily("turnout_table_rows", "Rows of a public table", labels=["table"])
    for name in registry.tables:
        rows.add_metric([name], registry.snapshot(name).rows.height)
    return rows


def _topics(service: Service) -> Iterator[Metric]:
    lag = GaugeMetricFamily("turnout_topic_lag", "Messages not in the tables yet", labels=["topic"])
    for topic, messages in service.lag().items():
        if messages is not None:
            lag.add_metric([topic], messages)
    yield lag
    read = CounterMetricFamily(
        "turnout_messages_read",
        "Messages of a topic that are in the tables, since the pipeline that is shown began with it",
        labels=["topic"],
    )
    for topic, messages in service.messages_read().items():
        read.add_metric([topic], messages)
    yield read
    stale = GaugeMetricFamily(
        "turnout_topic_stale_seconds",
        "How long messages of a topic have waited, none of them coming into the tables, or Kafka has been silent",
        labels=["topic"],
    )
    for topic, seconds in service.staleness.seconds().items():
        stale.add_metric([topic], seconds)
    yield stale


def _freshness(service: Service) -> Iterator[Metric]:
    yield histogram(
        "turnout_row_latency_seconds",
        "From a message's time in Kafka until its row was in the tables, of one row of each batch",
        service.intake.latency,
    )
    newest = GaugeMetricFamily("turnout_newest_row_timestamp_seconds", "The newest row's time in Kafka")
    if (freshness := service.freshness()) is not None:
        newest.add_metric([], freshness.newest_ms / 1000)
    yield newest


def _changelog(service: Service) -> Metric:
    records = CounterMetricFamily(
        "turnout_changelog_records",
        "Records read from changelogs, of lingering and new generations too: taken, or dropped as nothing new",
        labels=["outcome"],
    )
    records.add_metric(["taken"], service.intake.taken)
    records.add_metric(["dropped"], service.intake.dropped)
    return records
