import logging

import pytest

from turnout.control.asked import HEADER, Asked, asked_in, in_one_line, write_down

ASKED = Asked("ops@example.com", "203.0.113.9", "web-1, process 7")


def test_what_is_written_is_read_among_other_headers() -> None:
    assert asked_in([("trace", b"1"), ASKED.header(), ("trace", None)]) == ASKED


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("by", b"ops")],
        [(HEADER, None)],
        [(HEADER, b"")],
        [(HEADER, b"\xff")],
        [(HEADER, b'"ops"')],
        [(HEADER, b'{"by": 7, "address": "a"}')],
        [(HEADER, b'{"by": "ops"}')],
    ],
)
def test_what_somebody_else_has_written_there_tells_nothing(headers: list[tuple[str, bytes | None]]) -> None:
    assert asked_in(headers) is None


def test_it_is_written_down_in_one_line_whatever_it_holds(caplog: pytest.LogCaptureFixture) -> None:
    forged = Asked("ops\n2026 ERROR forged", "\x1b[2J", "web" * 1000)
    with caplog.at_level(logging.INFO):
        write_down(ASKED, b'{"joinType": "inner"}')
        write_down(forged, b"\xff\r")
    first, second = caplog.messages
    assert first == (
        "Switch over HTTP by ops@example.com from 203.0.113.9: accepted by web-1, process 7: " + '{"joinType": "inner"}'
    )
    assert second.startswith("Switch over HTTP by ops\\n2026 ERROR forged from \\x1b[2J: accepted by webweb")
    assert second.endswith(": \\xff\\r")
    assert len(second) < 1200


def test_a_long_message_is_cut() -> None:
    assert in_one_line(b"x" * 5000) == "x" * 1024
