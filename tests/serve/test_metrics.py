import json
import re
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from tests.changelog.test_intake import records
from tests.orchestrator.fakes import World
from tests.serve.feeding import change, swap
from tests.waiting import until
from turnout.serve.metrics import exposition
from turnout.service import Service

REPO = Path(__file__).parents[2]


def samples(text: str) -> dict[str, float]:
    """Name and label -> value."""
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def shown(service: Service) -> dict[str, float]:
    return samples(exposition(service)[0].decode())


def scraped(http: httpx.Client) -> dict[str, float]:
    return samples(http.get("/metrics").text)


def test_metrics_are_served_as_prometheus_reads_them(http: httpx.Client) -> None:
    answer = http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert "turnout_generation" in samples(answer.text)


def test_every_table_has_its_rows_counted(service: Service) -> None:
    swap(service, 3, [("1", 1), ("2", 2)])
    told = shown(service)
    assert {name: value for name, value in told.items() if name.startswith("turnout_table_rows")} == {
        f"turnout_table_rows {name}": {"users_ui": 2, "orchestrator_status": 1}.get(name, 0)
        for name in service.tables.registry.tables
    }
    assert told["turnout_generation"] == 3
    assert told["turnout_live"] == 0
    assert told["turnout_uptime_seconds"] >= 0


def test_the_lag_of_a_topic_is_left_out_where_it_is_unknown(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "lag", lambda: {"users": 12, 'odd"\\topic': None})
    told = shown(service)
    assert {name: value for name, value in told.items() if "lag" in name} == {"turnout_topic_lag users": 12}


# -- data


def test_how_long_rows_take_is_a_histogram(service: Service) -> None:
    service.intake._clock = lambda: 10.0
    for moment in (9_970, 9_980, 7_000):
        service.intake.note(2, records((moment, None)), shown=True)
    told = shown(service)
    assert told["turnout_row_latency_seconds_bucket 0.025"] == 1
    assert told["turnout_row_latency_seconds_bucket 0.05"] == 2
    assert told["turnout_row_latency_seconds_bucket 2.5"] == 2
    assert told["turnout_row_latency_seconds_bucket +Inf"] == told["turnout_row_latency_seconds_count"] == 3
    assert told["turnout_row_latency_seconds_sum"] == pytest.approx(3.05)
    assert told["turnout_changelog_records_total taken"] == 3
    assert told["turnout_changelog_records_total dropped"] == 3


def rejected(topic: str, *offsets: int) -> list[dict[str, object]]:
    return [{"ts": 0, "topic": topic, "partition": 0, "offset": at, "reason": "no", "value": "x"} for at in offsets]


def test_a_rejected_record_is_counted_once_however_often_it_is_sent(service: Service) -> None:
    service.tables.rejected(rejected("users", 1, 2))
    service.tables.rejected([*rejected("users", 2, 3), *rejected("accounts", 2)])
    told = shown(service)
    assert told["turnout_rejected_records_total users"] == 3
    assert told["turnout_rejected_records_total accounts"] == 1


# -- the orchestrator


def state(told: dict[str, float]) -> list[str]:
    prefix = "turnout_state "
    return [name.removeprefix(prefix) for name, value in told.items() if name.startswith(prefix) and value]


def test_it_is_in_one_state(service: Service) -> None:
    assert state(shown(service)) == ["starting"]


def test_a_switch_is_timed_and_counted_and_the_old_generation_lingers(service: Service, world: World) -> None:
    before = shown(service)
    assert state(before) == ["live"]
    assert (before["turnout_live"], before["turnout_ready"], before["turnout_query_active"]) == (1, 1, 1)
    assert before["turnout_switches_total applied"] == before["turnout_lingering_generations"] == 0
    world.send('{"leftTopic": "left_b"}')
    service.tables.status(world.status)
    assert state(shown(service)) == ["building"]
    world.now += 0.7
    world.succeed()
    service.tables.status(world.status)
    told = shown(service)
    assert state(told) == ["live"]
    assert told["turnout_switches_total applied"] == told["turnout_lingering_generations"] == 1
    assert told["turnout_builds_total ready"] == 2
    assert (told["turnout_switch_seconds_bucket 0.5"], told["turnout_switch_seconds_bucket 1.0"]) == (0, 1)
    assert told["turnout_switch_seconds_sum"] == pytest.approx(0.7)


def test_a_switch_that_fails_is_told_apart_from_one_that_is_rejected(service: Service, world: World) -> None:
    world.send("nonsense")
    world.send('{"leftTopic": "left_b"}')
    world.fail("no slots")
    told = shown(service)
    assert {name: value for name, value in told.items() if name.startswith("turnout_switches_total")} == {
        "turnout_switches_total applied": 0,
        "turnout_switches_total no change": 0,
        "turnout_switches_total rejected": 1,
        "turnout_switches_total superseded": 0,
        "turnout_switches_total failed": 1,
    }


def test_a_query_that_has_died_is_not_active(service: Service, world: World) -> None:
    world.die(world.pipeline, "killed")
    service.tables.status(world.status)
    told = shown(service)
    assert (told["turnout_live"], told["turnout_query_active"], state(told)) == (1, 0, ["degraded"])


# -- viewers


def viewers(http: httpx.Client) -> dict[str, float]:
    told = scraped(http)
    return {protocol: told[f"turnout_viewers {protocol}"] for protocol in ("sse", "perspective", "pulse")}


def test_viewers_are_counted_while_they_are_connected(http: httpx.Client, server: str) -> None:
    nobody = {"sse": 0, "perspective": 0, "pulse": 0}
    assert viewers(http) == nobody
    socket_address = server.replace("http", "ws")
    with (
        http.stream("GET", "/api/tables/users_ui/changes"),
        http.stream("GET", "/api/tables/final_ui/changes"),
        connect(f"{socket_address}/perspective"),
        connect(f"{socket_address}/api/pulse"),
    ):
        until(lambda: viewers(http) == {"sse": 2, "perspective": 1, "pulse": 1}, "all are counted")
    until(lambda: viewers(http) == nobody, "none is left")


def test_what_waits_for_a_client_that_does_not_read_is_told_and_that_it_fell_behind(
    http: httpx.Client, server: str, service: Service
) -> None:
    host, port = server.removeprefix("http://").split(":")
    with socket.socket() as sleeper:
        sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sleeper.connect((host, int(port)))
        sleeper.sendall(b"GET /api/tables/users_ui/changes HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: viewers(http)["sse"] == 1, "it is connected")
        waiting: list[dict[str, float]] = []

        def waits() -> bool:
            change(service, [(str(row), len(waiting)) for row in range(800)])
            waiting.append(scraped(http))
            return waiting[-1]["turnout_outbox_items sse"] > 1

        until(waits, "things wait for it")
        assert waiting[-1]["turnout_outbox_rows"] >= 800
        assert 0 < waiting[-1]["turnout_outbox_fullest_ratio sse"] <= 1
        assert waiting[-1]["turnout_viewers_fell_behind_total sse"] == 0
        for number in range(400):  # 25 MB: more than is kept for one, and than all buffers between the two take
            change(service, [(str(row), number) for row in range(800)])
        sleeper.settimeout(10)
        while scraped(http)["turnout_viewers_fell_behind_total sse"] == 0:
            assert sleeper.recv(1_000_000), "it is not cut off"


# -- processes


def test_the_memory_of_this_process_is_told_and_what_it_may_have(service: Service) -> None:
    told = shown(service)
    assert 10e6 < told["turnout_memory_bytes turnout"] < told["turnout_memory_limit_bytes"]
    assert told["process_cpu_seconds_total"] > 0
    assert (told["turnout_process_up turnout"], told["turnout_process_up spark"]) == (1, 0)
    assert told["turnout_process_restarts_total spark"] == 0


# -- what is written about them


@pytest.fixture
def names(service: Service) -> set[str]:
    """Of all series, as a query names them."""
    found = set[str]()
    for family in text_string_to_metric_families(exposition(service)[0].decode()):
        total = f"{family.name}_total"
        histogram = {f"{family.name}_{part}" for part in ("bucket", "sum", "count")}
        found |= {"counter": {total}, "histogram": histogram}.get(family.type, {family.name})
    return found


def named(query: str) -> set[str]:
    """The metrics that a query names."""
    return set(re.findall(r"\b(?:turnout|process|python)_\w+", re.sub(r'"[^"]*"', "", query)))


def queries(dashboard: Any) -> Iterable[str]:
    """All expressions in it, wherever they stand."""
    if isinstance(dashboard, dict):
        for key, value in dashboard.items():
            if key in ("expr", "query", "definition") and isinstance(value, str):
                yield value
            yield from queries(value)
    elif isinstance(dashboard, list):
        for item in dashboard:
            yield from queries(item)


def test_the_dashboard_asks_only_for_metrics_that_there_are(names: set[str]) -> None:
    dashboard = json.loads((REPO / "deploy/grafana/turnout.json").read_text("utf-8"))
    asked = {name for query in queries(dashboard) for name in named(query)}
    assert len(asked) > 20
    assert asked <= names


def test_the_dashboard_has_all_that_the_document_tells_to_look_at() -> None:
    dashboard = json.loads((REPO / "deploy/grafana/turnout.json").read_text("utf-8"))
    watched = re.search(r"^## What to watch\n(.*?)^## ", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert watched is not None
    told = set(re.findall(r"turnout_\w+", watched[1]))
    assert "turnout_leading" in told
    assert told <= {name for query in queries(dashboard) for name in re.findall(r"turnout_\w+?(?=_bucket|\W|$)", query)}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((REPO / "deploy/prometheus/alerts.yaml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_the_alerts_ask_only_for_metrics_that_there_are(names: set[str]) -> None:
    for rule in rules():
        assert named(rule["expr"]), rule["alert"]
        assert named(rule["expr"]) <= names, rule["alert"]


DOCUMENT = (REPO / "docs/operations.md").read_text("utf-8")


def test_every_alert_has_a_runbook_and_links_to_it() -> None:
    runbooks = re.findall(r"^### (\w+)$", DOCUMENT, re.MULTILINE)
    assert runbooks == [rule["alert"] for rule in rules()]
    for rule in rules():
        assert rule["annotations"]["runbook_url"].endswith(f"docs/operations.md#{rule['alert'].lower()}")


def test_the_document_has_every_metric_with_its_type(service: Service) -> None:
    rows = dict(re.findall(r"^\| `((?:turnout|process|python)_\w+)` \| (.*?) \|", DOCUMENT, re.MULTILINE))
    families = list(text_string_to_metric_families(exposition(service)[0].decode()))
    told = {family.name + "_total" * (family.type == "counter"): family.type for family in families}
    assert rows == told
