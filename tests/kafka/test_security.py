"""One set of properties in either spelling, for both clients. librdkafka's answers are those of the real library."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import ConfigError
from turnout.kafka.security import JaasEntry, for_java, for_librdkafka, parse_jaas, render_jaas

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
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
    written = {"sasl.mechanisms": mechanism, "sasl.username": user, "sasl.password": password}
    java = for_java(written)
    assert set(java) == {"sasl.mechanism", "sasl.jaas.config"}
    assert for_librdkafka(java) == written


@given(options=st.dictionaries(st.from_regex(r"[a-z][a-zA-Z0-9._-]*", fullmatch=True), HARD))
def test_a_jaas_entry_reads_back_as_it_was_written(options: dict[str, str]) -> None:
    entry = JaasEntry(PLAIN_MODULE, options)
    assert parse_jaas(render_jaas(entry)) == entry


@given(text=st.text(st.characters(exclude_characters='"')))
def test_a_broken_jaas_entry_is_not_quoted_for_the_password_is_in_it(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_jaas(f'{PLAIN_MODULE} required password="s3cr3t{text}')
    assert "s3cr3t" not in str(raised.value)


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", PLAIN_MODULE), ("SCRAM-SHA-256", SCRAM_MODULE), ("scram-sha-512", SCRAM_MODULE)]
)
def test_each_mechanism_has_its_login_module(mechanism: str, module: str) -> None:
    java = for_java({"sasl.mechanism": mechanism, "sasl.username": "ann", "sasl.password": 'a"b\\c'})
    assert java == {
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
    own = for_librdkafka({"sasl.jaas.config": f"{PLAIN_MODULE} required {options}"})
    assert own == {"sasl.username": "ann", "sasl.password": "pw"}


@pytest.mark.parametrize(
    "text", ["", "rubbish", f"{PLAIN_MODULE} required username=a password=b", f'{PLAIN_MODULE} required username="a;']
)
def test_a_broken_jaas_entry_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config"):
        for_librdkafka({"sasl.jaas.config": text})


def test_half_a_login_is_refused_on_both_sides() -> None:
    with pytest.raises(ConfigError, match=r"without sasl\.password"):
        for_java({"sasl.mechanism": "PLAIN", "sasl.username": "ann"})
    with pytest.raises(ConfigError, match="no password"):
        for_librdkafka({"sasl.jaas.config": f'{PLAIN_MODULE} required username="ann";'})


def test_a_clients_own_spelling_wins_over_a_translation() -> None:
    both = {
        "sasl.mechanism": "PLAIN",
        "sasl.username": "for-librdkafka",
        "sasl.password": "pw",
        "sasl.jaas.config": f'{PLAIN_MODULE} required username="for-java" password="pw";',
    }
    assert for_librdkafka(both)["sasl.username"] == "for-librdkafka"
    assert for_java(both)["sasl.jaas.config"] == both["sasl.jaas.config"]


def test_another_mechanisms_jaas_entry_goes_to_java_alone() -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    written = {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{module} required;"}
    assert for_java(written) == written
    assert for_librdkafka(written) == {"sasl.mechanisms": "OAUTHBEARER"}


def test_certificates_of_an_authority_are_a_pem_truststore_for_java() -> None:
    assert for_java({"ssl.ca.location": "/ca.pem"}) == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
    }
    assert for_java({"ssl.ca.pem": CHAIN}) == {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": CHAIN}
    assert for_java({"ssl.ca.location": "probe"}) == {}


@pytest.mark.parametrize("own", [{"ssl.ca.location": "/ca.pem"}, {"ssl.ca.pem": CHAIN}])
def test_a_pem_truststore_is_the_authority_for_librdkafka(own: dict[str, str]) -> None:
    assert for_librdkafka(for_java(own)) == own


def test_a_clients_certificate_reaches_java_as_text(tmp_path: Path) -> None:
    (tmp_path / "chain.pem").write_text(CHAIN)
    (tmp_path / "key.pem").write_text(KEY)
    java = for_java(
        {
            "ssl.certificate.location": str(tmp_path / "chain.pem"),
            "ssl.key.location": str(tmp_path / "key.pem"),
            "ssl.key.password": "pw",
        }
    )
    assert java == {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": CHAIN,
        "ssl.keystore.key": KEY,
        "ssl.key.password": "pw",
    }
    assert for_librdkafka(java) == {"ssl.certificate.pem": CHAIN, "ssl.key.pem": KEY, "ssl.key.password": "pw"}


def test_a_pem_keystore_file_holds_key_and_certificate_for_librdkafka() -> None:
    written = {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/both.pem"}
    assert for_librdkafka(written) == {"ssl.certificate.location": "/both.pem", "ssl.key.location": "/both.pem"}
    assert for_java(written) == written


def test_a_pkcs12_keystore_is_read_by_both_clients() -> None:
    written = {"ssl.keystore.location": "/client.p12", "ssl.keystore.password": "pw"}
    assert for_librdkafka({**written, "ssl.keystore.type": "PKCS12"}) == written
    assert for_java(written) == written


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ({"ssl.truststore.location": "/trust.jks"}, "ssl.ca.location"),
        ({"ssl.keystore.location": "/client.jks"}, "ssl.certificate.location and ssl.key.location"),
        ({"ssl.keystore.location": "/client", "ssl.keystore.type": "jks"}, "ssl.certificate.location"),
    ],
)
def test_a_store_that_only_java_reads_is_refused_with_what_to_give_instead(
    written: dict[str, str], instead: str
) -> None:
    with pytest.raises(ConfigError, match="only Java reads") as refused:
        for_librdkafka(written)
    assert instead in str(refused.value)
    pem = {"ssl.ca.pem": CHAIN, "ssl.certificate.pem": CHAIN, "ssl.key.pem": KEY}
    assert for_librdkafka(written | pem) == pem
    assert for_java(written | pem).items() >= written.items()


def test_a_key_that_java_cannot_read_is_refused_with_how_to_convert_it(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n")
    with pytest.raises(ConfigError, match="openssl pkcs8 -topk8") as refused:
        for_java({"ssl.certificate.pem": CHAIN, "ssl.key.location": str(tmp_path / "key.pem")})
    assert "MIIE" not in str(refused.value)


def test_a_certificate_file_that_is_missing_or_alone_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.certificate\.location: .*none\.pem cannot be read: No such file"):
        for_java({"ssl.certificate.location": str(tmp_path / "none.pem"), "ssl.key.pem": KEY})
    with pytest.raises(ConfigError, match=r"without ssl\.key\.location"):
        for_java({"ssl.certificate.pem": CHAIN})


@pytest.mark.parametrize(("java", "own"), [("", "none"), ("https", "https")])
def test_the_check_of_host_names_is_turned_off_in_each_clients_words(java: str, own: str) -> None:
    name = "ssl.endpoint.identification.algorithm"
    for written in ({name: java}, {name: own}):
        assert for_java(written) == {name: java}
        assert for_librdkafka(written) == {name: own}


def test_javas_own_properties_do_not_stop_librdkafka() -> None:
    written = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN_MODULE} required username="ann" password="pw";',
        "sasl.login.refresh.window.factor": "0.8",
        "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
        "metric.reporters": "",
        "ssl.enabled.protocols": "TLSv1.3",
        "ssl.protocol": "TLSv1.3",
        "default.api.timeout.ms": "1000",
        "client.dns.lookup": "use_all_dns_ips",
        "reconnect.backoff.max.ms": "500",
    }
    own = for_librdkafka(written)
    assert own == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": "pw",
        "client.dns.lookup": "use_all_dns_ips",
        "reconnect.backoff.max.ms": "500",
    }
    assert accepted_by_librdkafka(own)
    assert for_java(written) == {**written, "security.protocol": "SASL_SSL"}


def test_a_typing_mistake_reaches_librdkafka_which_refuses_it() -> None:
    assert not accepted_by_librdkafka(for_librdkafka({"sasl.pasword": "pw"}))
