import socket

import pytest

from turnout.address import listen, url_at, url_of
from turnout.config import ServeConfig
from turnout.errors import SetupError


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8400"),
        ("0.0.0.0", "http://127.0.0.1:8400"),
        ("::", "http://[::1]:8400"),
        ("turnout.example.com", "http://turnout.example.com:8400"),
    ],
)
def test_an_address_can_be_opened_on_the_same_machine(host: str, url: str) -> None:
    assert url_of(host, 8400) == url


def test_port_0_is_a_free_one() -> None:
    with listen(ServeConfig(port=0)) as listener:
        port = listener.getsockname()[1]
        assert url_at(listener) == f"http://127.0.0.1:{port}"
        socket.create_connection(("127.0.0.1", port), timeout=5).close()


def test_a_taken_port_is_said_to_be_so_and_how_to_choose_another() -> None:
    with listen(ServeConfig(port=0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(SetupError, match=rf"Port {port} on 127.0.0.1 is taken.*--port"):
            listen(ServeConfig(port=port))


def test_an_address_that_is_not_of_this_machine_is_refused() -> None:
    with pytest.raises(SetupError, match=r"Cannot listen on 192\.0\.2\.1, port 8400 \(.*--host"):
        listen(ServeConfig(host="192.0.2.1"))
    with pytest.raises(SetupError, match=r"Cannot listen on no\.such\.host\.invalid"):
        listen(ServeConfig(host="no.such.host.invalid"))
