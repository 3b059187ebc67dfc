"""One set of properties in either spelling, for both clients. librdkafka's answers are those of the real library."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import ConfigError
from turnout.kafka.login import render_librdkafka
from turnout.kafka.security import for_java, for_librdkafka

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
SSL = {"security.protocol": "SSL"}
SASL = {"security.protocol": "SASL_PLAINTEXT"}
PLAIN = {**SASL, "sasl.mechanism": "PLAIN"}
# The hard characters often, and any other: quotes, escapes, what ends an option, an entry or a line.
HARD = st.text(st.sampled_from("\"'\\;=${}\n\r\t 0n€") | st.characters(exclude_categories=["Cs"]))
MECHANISMS = st.sampled_from(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
# A key's form is all that is looked at here; both clients' reading of real ones needs a broker to matter.
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"
CHAIN = "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n"


def accepted_by_librdkafka(properties: Mapping[str, str]) -> bool:
    try:
        Producer({"bootstrap.servers": "localhost:1", "log_level": "0", **properties})
    except KafkaException:
        return False
    return True


@given(user=HARD, password=HARD, mechanism=MECHANISMS)
def test_a_login_survives_the_way_to_java_and_back(user: str, password: str, mechanism: str) -> None:
    written = {**SASL, "sasl.mechanisms": mechanism, "sasl.username": user, "sasl.password": password}
    java = for_java(written)
    assert set(java) == {"security.protocol", "sasl.mechanism", "sasl.jaas.config"}
    assert dict(for_librdkafka(java)) == written


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", PLAIN_MODULE), ("SCRAM-SHA-256", SCRAM_MODULE), ("scram-sha-512", SCRAM_MODULE)]
)
def test_each_mechanism_has_its_login_module(mechanism: str, module: str) -> None:
    java = for_java({**SASL, "sasl.mechanism": mechanism, "sasl.username": "ann", "sasl.password": 'a"b\\c'})
    assert dict(java) == {
        **SASL,
        "sasl.mechanism": mechanism.upper(),
        "sasl.jaas.config": rf'{module} required username="ann" password="a\"b\\c";',
    }


@pytest.mark.parametrize(
    "options",
    [
        "username=ann password=pw;",
        "username='ann'   password = 'pw' ;",
        'user_id="x"\n  username="ann"\n  password="pw";\n',
        r'username="\141nn" password="p\w";',
    ],
)
def test_a_jaas_entry_is_read_however_it_is_laid_out(options: str) -> None:
    own = for_librdkafka({**PLAIN, "sasl.jaas.config": f"{PLAIN_MODULE} required {options}"})
    assert dict(own) == {**SASL, "sasl.mechanisms": "PLAIN", "sasl.username": "ann", "sasl.password": "pw"}


@pytest.mark.parametrize(
    "text", ["", "rubbish", f"{PLAIN_MODULE} required username=a password=b", f'{PLAIN_MODULE} required username="a;']
)
def test_a_broken_jaas_entry_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config"):
        for_librdkafka({**PLAIN, "sasl.jaas.config": text})


def test_half_a_login_is_refused_on_both_sides() -> None:
    with pytest.raises(ConfigError, match=r"without sasl\.password"):
        for_java({**PLAIN, "sasl.username": "ann"})
    with pytest.raises(ConfigError, match="no password"):
        for_librdkafka({**PLAIN, "sasl.jaas.config": f'{PLAIN_MODULE} required username="ann";'})


def test_certificates_of_an_authority_are_a_pem_truststore_for_java() -> None:
    pem = {**SSL, "ssl.truststore.type": "PEM"}
    assert dict(for_java({**SSL, "ssl.ca.location": "/ca.pem"})) == {**pem, "ssl.truststore.location": "/ca.pem"}
    assert dict(for_java({**SSL, "ssl.ca.pem": CHAIN})) == {**pem, "ssl.truststore.certificates": CHAIN}
    assert dict(for_java({**SSL, "ssl.ca.location": "probe"})) == SSL


@pytest.mark.parametrize("own", [{"ssl.ca.location": "/ca.pem"}, {"ssl.ca.pem": CHAIN}])
def test_a_pem_truststore_is_the_authority_for_librdkafka(own: dict[str, str]) -> None:
    assert dict(for_librdkafka(for_java(SSL | own))) == SSL | own


def test_a_directory_of_authorities_is_refused_for_java_reads_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.ca\.location: .* is a directory"):
        for_java({**SSL, "ssl.ca.location": str(tmp_path)})


def test_a_clients_certificate_reaches_java_as_text(tmp_path: Path) -> None:
    (tmp_path / "chain.pem").write_text(CHAIN)
    (tmp_path / "key.pem").write_text(KEY)
    java = for_java(
        {
            **SSL,
            "ssl.certificate.location": str(tmp_path / "chain.pem"),
            "ssl.key.location": str(tmp_path / "key.pem"),
            "ssl.key.password": "pw",
        }
    )
    assert dict(java) == {
        **SSL,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": CHAIN,
        "ssl.keystore.key": KEY,
        "ssl.key.password": "pw",
    }
    own = {**SSL, "ssl.certificate.pem": CHAIN, "ssl.key.pem": KEY, "ssl.key.password": "pw"}
    assert dict(for_librdkafka(java)) == own


def test_a_pem_keystore_file_holds_key_and_certificate_for_librdkafka() -> None:
    written = {**SSL, "ssl.keystore.type": "PEM", "ssl.keystore.location": "/both.pem"}
    own = {**SSL, "ssl.certificate.location": "/both.pem", "ssl.key.location": "/both.pem"}
    assert dict(for_librdkafka(written)) == own
    assert dict(for_java(written)) == written
    assert dict(for_java(own)) == written


def test_a_pkcs12_keystore_is_read_by_both_clients() -> None:
    written = {**SSL, "ssl.keystore.location": "/client.p12", "ssl.keystore.password": "pw"}
    assert dict(for_librdkafka({**written, "ssl.keystore.type": "PKCS12"})) == written
    assert dict(for_java(written)) == written


@pytest.mark.parametrize(
    "written",
    [
        {"ssl.truststore.location": "/trust.jks"},
        {"ssl.keystore.location": "/client.jks"},
        {"ssl.keystore.location": "/client", "ssl.keystore.type": "JKS"},
    ],
)
def test_a_store_beside_the_same_as_pem_is_javas_and_the_pem_librdkafkas(written: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"store\.location: /\S+ cannot be read: No such file"):
        for_librdkafka(SSL | written)
    pem = {"ssl.ca.pem": CHAIN, "ssl.certificate.pem": CHAIN, "ssl.key.pem": KEY}
    assert dict(for_librdkafka(SSL | written | pem)) == SSL | pem
    assert for_java(SSL | written | pem).items() >= written.items()


def test_a_certificate_file_that_is_missing_or_alone_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.certificate\.location: .*none\.pem cannot be read: No such file"):
        for_java({**SSL, "ssl.certificate.location": str(tmp_path / "none.pem"), "ssl.key.pem": KEY})
    with pytest.raises(ConfigError, match=r"without ssl\.key\.location"):
        for_java({**SSL, "ssl.certificate.pem": CHAIN})


def test_the_check_of_host_names_is_turned_off_in_each_clients_words() -> None:
    name = "ssl.endpoint.identification.algorithm"
    for off in ("", "none", "NONE"):
        assert dict(for_java({**SSL, name: off})) == {**SSL, name: ""}
        assert dict(for_librdkafka({**SSL, name: off})) == {**SSL, name: "none"}
    for written in (SSL, {**SSL, name: "https"}):  # on is what both clients do by themselves
        assert dict(for_java(written)) == dict(for_librdkafka(written)) == SSL


def test_javas_own_properties_do_not_stop_librdkafka() -> None:
    written = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN_MODULE} required username="ann" password="pw";',
        "sasl.login.refresh.window.factor": "0.8",
        "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
        "metric.reporters": "",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        "ssl.enabled.protocols": "TLSv1.3",
        "ssl.protocol": "TLSv1.3",
        "default.api.timeout.ms": "1000",
        "client.dns.lookup": "use_all_dns_ips",
        "reconnect.backoff.max.ms": "500",
    }
    own = for_librdkafka(written)
    assert dict(own) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": "pw",
        "client.dns.lookup": "use_all_dns_ips",
        "reconnect.backoff.max.ms": "500",
    }
    assert accepted_by_librdkafka(own)
    assert dict(for_java(written)) == {**written, "security.protocol": "SASL_SSL"}


def test_librdkafkas_own_properties_do_not_reach_java() -> None:
    written = {"bootstrap.servers": "localhost:1", "log_level": "3", "statistics.interval.ms": "1000"}
    assert dict(for_librdkafka(written)) == {**written, "security.protocol": "PLAINTEXT"}
    assert dict(for_java(written)) == {"bootstrap.servers": "localhost:1", "security.protocol": "PLAINTEXT"}


@pytest.mark.parametrize("render", [for_java, for_librdkafka])
@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("sasl.pasword", r"did you mean sasl\.password\?"),
        ("ssl.trustore.location", r"did you mean ssl\.truststore\.location\?"),
        ("kafka.bootstrap.servers", r"did you mean bootstrap\.servers\?"),
        ("wholly.of.my.own.making", "remove it"),
    ],
)
def test_a_typing_mistake_is_refused_with_the_nearest_name(render: object, wrong: str, advice: str) -> None:
    assert callable(render)
    with pytest.raises(ConfigError, match=rf"no Kafka client knows the property {wrong}: {advice}") as refused:
        render({wrong: "s3cr3t"})
    assert "s3cr3t" not in str(refused.value)


def test_kerberos_has_each_clients_own_properties() -> None:
    jaas = "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true;"
    written = {**SASL, "sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka", "sasl.jaas.config": jaas}
    assert dict(for_java(written)) == written
    assert dict(for_librdkafka(written)) == {**SASL, "sasl.mechanisms": "GSSAPI", "sasl.kerberos.service.name": "kafka"}


def test_what_a_client_is_given_does_not_show_its_secrets() -> None:
    written = {**PLAIN, "sasl.username": "ann", "sasl.password": "s3cr3t"}
    assert "s3cr3t" not in f"{for_java(written)} {for_librdkafka(written)!r}"


TOKENS = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.client.id": "turnout",
    "sasl.oauthbearer.client.secret": "s3cr3t",
}


def test_an_https_endpoint_is_trusted_as_the_system_trusts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """librdkafka's own default is a file that Debian does not have."""
    (there := tmp_path / "there.pem").write_text(CHAIN)
    monkeypatch.setattr(render_librdkafka, "SYSTEM_BUNDLES", (str(tmp_path / "not-there.pem"), str(there)))
    https = {**TOKENS, "sasl.oauthbearer.token.endpoint.url": "https://login.example.com/token"}
    assert for_librdkafka(https)["https.ca.location"] == str(there)
    assert for_librdkafka({**https, "https.ca.location": "/own.pem"})["https.ca.location"] == "/own.pem"
    http = {**TOKENS, "sasl.oauthbearer.token.endpoint.url": "http://localhost/token"}
    assert "https.ca.location" not in for_librdkafka(http)
