"""The examples of logins are what the document shows, and come to what each provider documents for each client."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.secure.certificates import STORE_PASSWORD, Certificates
from tests.secure.examples import EXAMPLES, NAMES, Examples
from tests.secure.logins import CONNECTION, CONNECTION_USER
from turnout.kafka.login import render_librdkafka
from turnout.kafka.security import for_java, for_librdkafka

DOCUMENT = Path(__file__).parents[1] / "docs" / "kafka-security.md"

SECRET = "s3cr3t"
FILES = dict.fromkeys(("kafka-password", "control-password", "bus-password", "client-secret"), SECRET)
ENVIRONMENT = {
    "KAFKA_BOOTSTRAP": "kafka.example.com:9093",
    "KAFKA_PASSWORD": SECRET,
    "KAFKA_API_KEY": "EXAMPLEKEY",
    "KAFKA_API_SECRET": SECRET,
    "CLIENT_ID": "turnout",
    "CLIENT_SECRET": SECRET,
    "MSK_USER": "turnout",
    "MSK_PASSWORD": SECRET,
    "EVENT_HUBS_CONNECTION": CONNECTION,
    "TRUSTSTORE_PASSWORD": STORE_PASSWORD,
    "KEYSTORE_PASSWORD": STORE_PASSWORD,
}

MODULES = "org.apache.kafka.common.security"
PLAIN, SCRAM, OAUTH = (
    f"{MODULES}.{name} required"
    for name in ("plain.PlainLoginModule", "scram.ScramLoginModule", "oauthbearer.OAuthBearerLoginModule")
)
OIDC = {
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.token.endpoint.url": "https://login.example.com/oauth2/token",
    "sasl.oauthbearer.client.id": "turnout",
    "sasl.oauthbearer.client.secret": SECRET,
    "sasl.oauthbearer.scope": "kafka",
}
JAVA_OIDC = {
    "sasl.oauthbearer.token.endpoint.url": "https://login.example.com/oauth2/token",
    "sasl.login.callback.handler.class": f"{MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler",
}


class Told(NamedTuple):
    """What each client is told, but for the address. DIR is where the files are."""

    java: dict[str, str]
    librdkafka: dict[str, str]


def sasl(mechanism: str, jaas: str, own: dict[str, str], *, has_ca: bool) -> Told:
    java = {"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    own = {"security.protocol": "SASL_SSL", "sasl.mechanisms": mechanism, **own}
    if has_ca:
        java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": "DIR/ca.pem"}
        own |= {"ssl.ca.location": "DIR/ca.pem"}
    return Told(java, own)


def password(mechanism: str, module: str, user: str, secret: str = SECRET, *, has_ca: bool) -> Told:
    own = {"sasl.username": user, "sasl.password": secret}
    return sasl(mechanism, f'{module} username="{user}" password="{secret}";', own, has_ca=has_ca)


def token(options: str, own: dict[str, str], *, has_ca: bool) -> Told:
    jaas = f'{OAUTH} clientId="turnout" clientSecret="{SECRET}" scope="kafka" {options};'
    told = sasl("OAUTHBEARER", jaas, OIDC | own, has_ca=has_ca)
    return Told(told.java | JAVA_OIDC, told.librdkafka)


SELF_HOSTED_TOKEN = token(
    'ssl.truststore.type="PEM" ssl.truststore.location="DIR/ca.pem"', {"https.ca.location": "DIR/ca.pem"}, has_ca=True
)
TOLD = {
    "tls": Told(
        {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "DIR/ca.pem"},
        {"security.protocol": "SSL", "ssl.ca.location": "DIR/ca.pem"},
    ),
    "mutual-tls": Told(
        {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "DIR/ca.pem",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": "CHAIN",
            "ssl.keystore.key": "KEY",
        },
        {
            "security.protocol": "SSL",
            "ssl.ca.location": "DIR/ca.pem",
            "ssl.certificate.location": "DIR/client.pem",
            "ssl.key.location": "DIR/client.key",
            "ssl.key.password": STORE_PASSWORD,
        },
    ),
    "mutual-tls-stores": Told(
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": "DIR/truststore.jks",
            "ssl.truststore.password": STORE_PASSWORD,
            "ssl.keystore.location": "DIR/keystore.jks",
            "ssl.keystore.password": STORE_PASSWORD,
        },
        {
            "security.protocol": "SSL",
            "ssl.ca.pem": "CA",
            "ssl.certificate.pem": "CHAIN",
            "ssl.key.pem": "KEY",
        },
    ),
    "plain": password("PLAIN", PLAIN, "turnout", has_ca=True),
    "scram": password("SCRAM-SHA-512", SCRAM, "turnout", has_ca=True),
    "scram-java": password("SCRAM-SHA-512", SCRAM, "turnout", has_ca=True),
    "oauth": SELF_HOSTED_TOKEN,
    "oauth-java": SELF_HOSTED_TOKEN,
    "confluent-cloud": password("PLAIN", PLAIN, "EXAMPLEKEY", has_ca=False),
    "confluent-cloud-oauth": token(
        'extension_logicalCluster="lkc-example" extension_identityPoolId="pool-example"',
        {
            "sasl.oauthbearer.extensions": "logicalCluster=lkc-example,identityPoolId=pool-example",
            "https.ca.location": "SYSTEM",
        },
        has_ca=False,
    ),
    "amazon-msk-scram": password("SCRAM-SHA-512", SCRAM, "turnout", has_ca=False),
    "azure-event-hubs": password("PLAIN", PLAIN, CONNECTION_USER, CONNECTION, has_ca=False),
    "separate-logins": password("SCRAM-SHA-512", SCRAM, "turnout-reads", has_ca=False),
}


@pytest.fixture
def examples(certificates: Certificates, tmp_path: Path) -> Examples:
    return Examples(tmp_path, certificates, FILES, ENVIRONMENT)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_comes_to_what_is_documented_for_each_client(
    examples: Examples, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    system = tmp_path / "ca.pem"
    monkeypatch.setattr(render_librdkafka, "SYSTEM_BUNDLES", (str(system),))
    meant = {
        "SYSTEM": str(system),
        "CA": certificates.authority.certificate.read_text(),
        "CHAIN": certificates.client.certificate.read_text(),
        "KEY": certificates.client.key.read_text(),
    }

    def told(said: dict[str, str]) -> dict[str, str]:
        filled = {name: meant.get(value, value).replace("DIR/", f"{tmp_path}/") for name, value in said.items()}
        return {"bootstrap.servers": "kafka.example.com:9093", **filled}

    kafka = examples.config(name).kafka
    assert dict(for_java(kafka)) == told(TOLD[name].java)
    assert dict(for_librdkafka(kafka)) == told(TOLD[name].librdkafka)


@pytest.mark.parametrize("name", NAMES)
def test_no_example_shows_a_secret(examples: Examples, name: str) -> None:
    config = examples.config(name)
    shown = f"{config!r} {config.masked()} {for_java(config.kafka)} {for_librdkafka(config.kafka)}"
    assert [secret for secret in (SECRET, STORE_PASSWORD, CONNECTION) if secret in shown] == []


def test_each_kafka_may_have_its_own_login(examples: Examples) -> None:
    config = examples.config("separate-logins")
    users = [kafka["sasl.username"] for kafka in (config.kafka, config.control.kafka, config.bus)]
    assert users == ["turnout-reads", "turnout-is-switched", "turnout-writes"]


@pytest.mark.parametrize("name", NAMES)
def test_the_document_shows_each_example_as_it_is(name: str) -> None:
    text = (EXAMPLES / f"{name}.yaml").read_text()
    assert f"```yaml\n# examples/kafka/{name}.yaml\n{text}```\n" in DOCUMENT.read_text()


def test_the_documents_links_lead_somewhere() -> None:
    text = DOCUMENT.read_text()
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text)
    assert links
    assert [file for file, _ in links if file and not (DOCUMENT.parent / file).exists()] == []
    assert [anchor for file, anchor in links if not file and anchor not in anchors] == []
