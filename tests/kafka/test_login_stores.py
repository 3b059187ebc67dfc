"""Java's stores, made by its keytool, reach librdkafka as the certificates and the key that are in them."""

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from turnout.errors import ConfigError
from turnout.java import find_java
from turnout.kafka.security import for_java, for_librdkafka

pytestmark = pytest.mark.live  # a short-lived Java each

SSL = {"security.protocol": "SSL"}
PASSWORD, KEY_PASSWORD = "s3cr3t of the store", "s3cr3t of the key"


class Stores:
    """A client's certificate, which it signed itself, in stores of all kinds."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.key, self.pem = directory / "client.jks", directory / "client.pem"
        self.trust, self.trust_p12 = directory / "trust.jks", directory / "trust.p12"
        make = ["-genkeypair", "-alias", "the client", "-dname", "CN=client.example.com", "-keyalg", "EC"]
        self._in_store(*make, "-keypass", KEY_PASSWORD, "-storetype", "JKS", "-keystore", str(self.key))
        self._in_store(
            "-exportcert", "-rfc", "-alias", "the client", "-file", str(self.pem), "-keystore", str(self.key)
        )
        for store, kind in ((self.trust, "JKS"), (self.trust_p12, "PKCS12")):
            take = ["-importcert", "-noprompt", "-alias", "ca", "-file", str(self.pem), "-storetype", kind]
            self._in_store(*take, "-keystore", str(store))

    def _in_store(self, *arguments: str) -> None:
        self.keytool(*arguments, "-storepass", PASSWORD)

    @staticmethod
    def keytool(*arguments: str) -> None:
        keytool = find_java().path.resolve().with_name("keytool")
        subprocess.run([keytool, *arguments], capture_output=True, timeout=60, check=True)

    @property
    def certificate(self) -> str:
        return self.pem.read_text().replace("\r", "")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"))


def accepted_by_librdkafka(properties: Mapping[str, str]) -> bool:
    """It reads certificates and keys, and sees whether they belong together, before it looks for a broker."""
    try:
        Producer({"bootstrap.servers": "localhost:1", "log_level": "0", **properties})
    except KafkaException:
        return False
    return True


def one_line_per_text(pem: str) -> str:
    return "".join(pem.split())


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_truststore_is_the_authority_for_librdkafka(stores: Stores, kind: str, is_named: bool) -> None:
    location = stores.trust if kind == "JKS" else stores.trust_p12
    written = {**SSL, "ssl.truststore.location": str(location), "ssl.truststore.password": PASSWORD}
    written |= {"ssl.truststore.type": kind} if is_named else {}
    own = for_librdkafka(written)
    assert set(own) == {"security.protocol", "ssl.ca.pem"}
    assert one_line_per_text(own["ssl.ca.pem"]) == one_line_per_text(stores.certificate)
    assert accepted_by_librdkafka(own)
    assert dict(for_java(written)) == written


def test_a_jks_truststore_is_read_without_its_password_as_java_does(stores: Stores) -> None:
    own = for_librdkafka({**SSL, "ssl.truststore.location": str(stores.trust)})
    assert one_line_per_text(own["ssl.ca.pem"]) == one_line_per_text(stores.certificate)


def test_a_jks_keystore_is_certificate_and_key_for_librdkafka_and_leaves_no_file(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written = {
        **SSL,
        "ssl.keystore.location": str(stores.key),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": KEY_PASSWORD,
    }
    own = for_librdkafka(written)
    assert set(own) == {"security.protocol", "ssl.certificate.pem", "ssl.key.pem"}
    assert one_line_per_text(own["ssl.certificate.pem"]) == one_line_per_text(stores.certificate)
    assert accepted_by_librdkafka(own)
    assert dict(for_java(written)) == written
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("encryption", ["today's", "the former"])
def test_a_pkcs12_keystore_is_read_however_java_encrypted_it(stores: Stores, tmp_path: Path, encryption: str) -> None:
    """Until Java 16 it was in a way that librdkafka does not read."""
    store = tmp_path / "client.p12"
    source = ["-srckeystore", str(stores.key), "-srcstorepass", PASSWORD, "-srckeypass", KEY_PASSWORD]
    copy = ["-destkeystore", str(store), "-deststoretype", "PKCS12", "-deststorepass", PASSWORD]
    former = ["-J-Dkeystore.pkcs12.legacy"] if encryption == "the former" else []
    stores.keytool("-importkeystore", "-noprompt", "-srcalias", "the client", *source, *copy, *former)
    own = for_librdkafka({**SSL, "ssl.keystore.location": str(store), "ssl.keystore.password": PASSWORD})
    assert one_line_per_text(own["ssl.certificate.pem"]) == one_line_per_text(stores.certificate)
    assert accepted_by_librdkafka(own)
    with pytest.raises(ConfigError, match=r"ssl\.keystore\.password is wrong") as refused:
        for_librdkafka({**SSL, "ssl.keystore.location": str(store), "ssl.keystore.password": "s3cr3t, not"})
    assert "s3cr3t" not in str(refused.value)


def test_a_store_that_is_replaced_is_read_anew(stores: Stores, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other, store = Stores(tmp_path / "other"), tmp_path / "trust.jks"
    for now in (stores, other, stores):
        store.write_bytes(now.trust.read_bytes())
        own = for_librdkafka({**SSL, "ssl.truststore.location": str(store), "ssl.truststore.password": PASSWORD})
        assert one_line_per_text(own["ssl.ca.pem"]) == one_line_per_text(now.certificate)


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_wrong_password_is_named_and_not_quoted(stores: Stores, kind: str) -> None:
    location = stores.trust if kind == "JKS" else stores.trust_p12
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.password is wrong") as refused:
        for_librdkafka({**SSL, "ssl.truststore.location": str(location), "ssl.truststore.password": "s3cr3t, not"})
    assert "s3cr3t" not in str(refused.value)


def test_a_wrong_password_of_the_key_is_named_and_not_quoted(stores: Stores) -> None:
    store = {"ssl.keystore.location": str(stores.key), "ssl.keystore.password": PASSWORD}
    with pytest.raises(ConfigError, match=r"ssl\.key\.password is wrong") as refused:
        for_librdkafka({**SSL, **store, "ssl.key.password": "s3cr3t, not"})
    assert "s3cr3t" not in str(refused.value)


def test_a_keystore_without_a_key_and_a_store_that_is_none_are_named(stores: Stores, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no private key"):
        for_librdkafka({**SSL, "ssl.keystore.location": str(stores.trust), "ssl.keystore.password": PASSWORD})
    with pytest.raises(ConfigError, match=r"is a PEM file: set ssl\.truststore\.type to PEM"):
        for_librdkafka({**SSL, "ssl.truststore.location": str(stores.pem)})
    (tmp_path / "rubbish").write_bytes(b"rubbish")
    with pytest.raises(ConfigError, match="no PKCS12 or JKS store"):
        for_librdkafka({**SSL, "ssl.truststore.location": str(tmp_path / "rubbish")})
