from turnout.kafka.broker_config import LARGEST_RECORD_BYTES, server_properties


def properties(**overrides: str) -> dict[str, str]:
    text = server_properties(9092, 9093, {name.replace("_", "."): value for name, value in overrides.items()})
    return dict(line.split("=", 1) for line in text.splitlines())


def test_every_listener_is_on_loopback() -> None:
    given = properties()
    assert given["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    assert given["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9092"


def test_a_segment_and_a_request_have_room_for_the_largest_record() -> None:
    given = properties()
    assert int(given["message.max.bytes"]) == LARGEST_RECORD_BYTES
    assert int(given["log.segment.bytes"]) > LARGEST_RECORD_BYTES
    assert int(given["socket.request.max.bytes"]) > LARGEST_RECORD_BYTES


def test_what_is_given_wins() -> None:
    assert properties(node_id="7", log_retention_ms="1000")["node.id"] == "7"
    assert properties(log_retention_ms="1000")["log.retention.ms"] == "1000"


def test_a_value_stays_on_its_line() -> None:
    assert properties(some_text="a\\b\nc=d")["some.text"] == "a\\\\b\\nc=d"
