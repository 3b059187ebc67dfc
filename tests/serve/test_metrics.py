import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.serve.feeding import swap
from turnout.serve.metrics import exposition
from turnout.service import Service


def samples(text: str) -> dict[str, float]:
    """Name and label -> value."""
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_are_served_as_prometheus_reads_them(http: httpx.Client) -> None:
    answer = http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert "turnout_generation" in samples(answer.text)


def test_every_table_has_its_rows_counted(service: Service) -> None:
    swap(service, 3, [("1", 1), ("2", 2)])
    shown = samples(exposition(service)[0].decode())
    assert {name: value for name, value in shown.items() if name.startswith("turnout_table_rows")} == {
        f"turnout_table_rows {name}": {"users_ui": 2, "orchestrator_status": 1}.get(name, 0)
        for name in service.tables.registry.tables
    }
    assert shown["turnout_generation"] == 3
    assert shown["turnout_live"] == 0
    assert shown["turnout_uptime_seconds"] >= 0


def test_the_lag_of_a_topic_is_left_out_where_it_is_unknown(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "lag", lambda: {"users": 12, 'odd"\\topic': None})
    shown = samples(exposition(service)[0].decode())
    assert {name: value for name, value in shown.items() if "lag" in name} == {"turnout_topic_lag users": 12}
