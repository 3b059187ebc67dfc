from turnout.sse import ServerEvent, events


def parsed(text: str) -> list[ServerEvent]:
    return list(events(text.encode().splitlines(keepends=True)))


def test_events_come_with_their_kind_and_data() -> None:
    assert parsed('event: snapshot\ndata: {"rows": []}\n\nevent: change\ndata: [1]\n\n') == [
        ServerEvent("snapshot", {"rows": []}),
        ServerEvent("change", [1]),
    ]


def test_comments_are_no_events() -> None:
    assert parsed(": still here\n\n: still here\n\ndata: 1\n\n") == [ServerEvent("message", 1)]


def test_data_on_several_lines_is_one_value() -> None:
    assert parsed("data: [1,\ndata: 2]\n\n") == [ServerEvent("message", [1, 2])]


def test_an_event_that_was_cut_off_is_left_out() -> None:
    assert parsed("data: 1\n\nevent: change\ndata: [2]\n") == [ServerEvent("message", 1)]


def test_carriage_returns_and_missing_blanks_do_not_matter() -> None:
    assert parsed('event:swap\r\ndata:"é: x"\r\n\r\n') == [ServerEvent("swap", "é: x")]
