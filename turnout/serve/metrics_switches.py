"""Metrics of the orchestrator: its state, its generations, and what has become of switches."""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from turnout.orchestrator.moves import Build, Outcome
from turnout.orchestrator.states import State
from turnout.serve.metrics_data import histogram
from turnout.service import Service


def switch_metrics(service: Service) -> Iterator[Metric]:
    shown = service.tables.registry.generation
    yield GaugeMetricFamily("turnout_generation", "The generation shown", value=shown)
    yield GaugeMetricFamily("turnout_lingering_generations", "Old generations that still run", value=service.lingering)
    yield _state(service)
    moves = service.moves
    yield _counted("turnout_switches", "Control messages since the start, by outcome", moves.outcomes, Outcome)
    yield _counted("turnout_builds", "Pipelines that were built or resumed, by outcome", moves.builds, Build)
    yield histogram(
        "turnout_switch_seconds", "From a control message until what it asked for was shown", moves.switch_seconds
    )


def _state(service: Service) -> Metric:
    now = service.tables.status_row()["state"]
    states = GaugeMetricFamily("turnout_state", "1 for the state that it is in", labels=["state"])
    for state in State:
        states.add_metric([state], float(state == now))
    return states


def _counted(name: str, meaning: str, counts: Counter[StrEnum], outcomes: type[StrEnum]) -> Metric:
    """All of them from the start: what appears only when it happens cannot be seen to rise."""
    family = CounterMetricFamily(name, meaning, labels=["outcome"])
    for outcome in outcomes:
        family.add_metric([outcome], counts[outcome])
    return family
