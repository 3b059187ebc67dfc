"""Metrics of those who look on: how many there are, what waits for them, who could not keep up."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from turnout.serve.audience import Audience, Protocol

QUEUED = (Protocol.SSE, Protocol.PERSPECTIVE)
"""Those for whom things wait. A listener to the pulse misses a beat instead."""


def viewer_metrics(audience: Audience) -> Iterator[Metric]:
    viewers = GaugeMetricFamily("turnout_viewers", "Connections that are open", labels=["protocol"])
    for protocol in Protocol:
        viewers.add_metric([protocol], audience.viewers(protocol))
    yield viewers
    behind = CounterMetricFamily(
        "turnout_viewers_fell_behind",
        "Connections for which too much waited, so that they had to start over",
        labels=["protocol"],
    )
    for protocol in QUEUED:
        behind.add_metric([protocol], audience.fell_behind[protocol])
    yield behind
    yield from _outboxes(audience)


def _outboxes(audience: Audience) -> Iterator[Metric]:
    items = GaugeMetricFamily("turnout_outbox_items", "Events or messages that wait to be sent", labels=["protocol"])
    fullest = GaugeMetricFamily(
        "turnout_outbox_fullest_ratio", "The fullest of all outboxes; at 1 its client starts over", labels=["protocol"]
    )
    weights = dict.fromkeys(QUEUED, 0)
    for protocol in QUEUED:
        outboxes = audience.outboxes(protocol)
        items.add_metric([protocol], sum(outbox.items for outbox in outboxes))
        fullest.add_metric([protocol], max((outbox.fullness for outbox in outboxes), default=0.0))
        weights[protocol] = sum(outbox.weight for outbox in outboxes)
    yield items
    yield fullest
    yield GaugeMetricFamily("turnout_outbox_rows", "Rows that wait for event streams", value=weights[Protocol.SSE])
    yield GaugeMetricFamily(
        "turnout_outbox_bytes", "Bytes that wait for Perspective's sockets", value=weights[Protocol.PERSPECTIVE]
    )
