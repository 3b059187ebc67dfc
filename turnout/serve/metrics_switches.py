"""Metrics of the orchestrator: its state, its generations, and what has become of switches."""

from collections.abc import Iterator, Mapping

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
    yield _counted(
        "turnout_switches", "Control messages since the start, by outcome", {it: moves.outcomes[it] for it in Outcome}
    )
    yield _counted(
        "turnout_builds", "Pipelines that were built or resumed, by outcome", {it: moves.builds[it] for it in Build}
    )
    yield histogram(
        "turnout_switch_seconds", "From a control message until what it asked for was shown", moves.switch_seconds
    )


def _state(service: Service) -> Metric:
    now = service.tables.status_row()["state"]
    states = GaugeMetricFamily("turnout_state", "1 for the state that it is in", labels=["state"])
    for state in State:
        states.add_metric([state], float(state == now))
    return states


def _counted(name: str, meaning: str, counts: Mapping[str, int]) -> Metric:
    """All outcomes from the start on: what appears only when it happens cannot be seen to rise."""
    family = CounterMetricFamily(name, meaning, labels=["outcome"])
    for outcome, count in counts.items():
        family.add_metric([outcome], count)
    return family
