"""Properties: a mapping to read, with nothing to see when it is printed."""

import pytest

from turnout.properties import KafkaProperties, Properties, is_secret


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "ssl.key.password",
        "ssl.keystore.password",
        "sasl.jaas.config",
        "ssl.key.pem",
        "ssl.keystore.key",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.config",
        "basic.auth.user.info",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.azure.account.key.example",
        "spark.ssl.keyPassword",
        "spark.authenticate.token",
    ],
)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name, "x")


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.servers",
        "sasl.username",
        "sasl.mechanism",
        "security.protocol",
        "ssl.key.location",
        "ssl.keystore.location",
        "ssl.truststore.type",
        "ssl.certificate.pem",
        "key.deserializer",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.client.id",
        "spark.sql.shuffle.partitions",
    ],
)
def test_what_is_no_secret_can_be_seen(name: str) -> None:
    assert not is_secret(name, "x")


@pytest.mark.parametrize(
    "value",
    ["https://ann:pw@example.com/", "-Djavax.net.ssl.trustStorePassword=pw", "-----BEGIN ENCRYPTED PRIVATE KEY-----"],
)
def test_a_secret_is_known_by_its_value_under_any_name(value: str) -> None:
    assert is_secret("spark.driver.extraJavaOptions", value)


def test_properties_are_read_as_a_dict_and_printed_without_secrets() -> None:
    properties = KafkaProperties({"bootstrap.servers": "localhost:9092", "sasl.password": "hush"})
    assert dict(properties) == {"bootstrap.servers": "localhost:9092", "sasl.password": "hush"}
    assert properties == {**properties}
    for shown in (repr(properties), str(properties), f"{properties}", str(properties.masked())):
        assert "hush" not in shown
        assert "localhost:9092" in shown


def test_a_kafka_property_may_be_written_with_underscores() -> None:
    assert dict(KafkaProperties({"bootstrap_servers": "a:1", "log_level": "3"})) == {
        "bootstrap.servers": "a:1",
        "log_level": "3",
    }
    assert dict(KafkaProperties({"metadata.broker.list": "a:1"})) == {"bootstrap.servers": "a:1"}
    assert dict(Properties({"spark.executorEnv.MY_VAR": "1"})) == {"spark.executorEnv.MY_VAR": "1"}
