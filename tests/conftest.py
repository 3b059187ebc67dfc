"""One set of certificates, one token endpoint and one broker with a login for the whole run. Topics are per test."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AclOperation
from hypothesis import settings

from tests.secure.broker import Listener, SecureBroker
from tests.secure.certificates import Certificates
from tests.secure.logins import CLIENT_SECRET, CONNECTION, CONNECTION_USER, PASSWORD, USER, Setting, filled, password
from tests.secure.token_endpoint import TokenEndpoint
from tests.waiting import until
from turnout.java import java_parts

READABLE = "readable"

# An example may take its time: how long says more about the machine than about what is tested.
settings.register_profile("turnout", deadline=None)
settings.load_profile("turnout")


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"), client_name=USER)


@pytest.fixture(scope="session")
def tokens(certificates: Certificates) -> Iterator[TokenEndpoint]:
    """Whose keys the broker knows. A test that changes or stops it puts it back."""
    with TokenEndpoint({USER: CLIENT_SECRET}, identity=certificates.server) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def secure(
    certificates: Certificates, tokens: TokenEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecureBroker]:
    jars = java_parts(print).broker
    users = {USER: PASSWORD, CONNECTION_USER: CONNECTION}
    with SecureBroker(tmp_path_factory.mktemp("secure"), jars, certificates, tokens, users) as broker:
        yield broker


@pytest.fixture(scope="session")
def at(secure: SecureBroker, certificates: Certificates, tokens: TokenEndpoint) -> Setting:
    filled(secure, READABLE)
    secure.allow(USER, AclOperation.READ, READABLE)
    setting = Setting(secure, certificates, tokens, READABLE)
    user = setting.cluster(Listener.PASSWORD, password("PLAIN"))
    until(lambda: READABLE in user.topics(), "it may be read")
    return setting
