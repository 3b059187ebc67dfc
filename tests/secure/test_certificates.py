"""The certificates of these tests are what they say, to a client that is neither librdkafka nor Java."""

import socket
import ssl
import threading
from pathlib import Path

import pytest

from tests.secure.certificates import STORE_PASSWORD, Certificates, Identity, keytool
from tests.secure.ports import HOST


def greeted(server: Identity, client: ssl.SSLContext) -> None:
    """A handshake with a server that shows this certificate; its failure is the client's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.certificate, server.key)
    ours, theirs = socket.socketpair()

    def answer() -> None:
        try:
            with context.wrap_socket(theirs, server_side=True):
                pass
        except OSError:  # the client has hung up
            theirs.close()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        with client.wrap_socket(ours, server_hostname=HOST):
            pass
    finally:
        ours.close()
        thread.join()


def trusting(certificates: Certificates) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificates.authority.certificate)


def test_the_good_one(certificates: Certificates) -> None:
    greeted(certificates.server, trusting(certificates))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("expired", "certificate has expired"),
        ("not_yet_valid", "certificate is not yet valid"),
        ("other_host", "IP address mismatch"),
    ],
)
def test_the_bad_ones(certificates: Certificates, name: str, why: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match=why):
        greeted(getattr(certificates, name), trusting(certificates))


def test_an_authority_that_is_not_trusted(certificates: Certificates) -> None:
    other = ssl.create_default_context(cafile=certificates.other_authority.certificate)
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer certificate"):
        greeted(certificates.server, other)


def test_a_key_with_a_password(certificates: Certificates) -> None:
    client = certificates.client
    assert b"BEGIN ENCRYPTED PRIVATE KEY" in client.encrypted_key.read_bytes()
    ssl.create_default_context().load_cert_chain(client.certificate, client.encrypted_key, STORE_PASSWORD)
    with pytest.raises(ssl.SSLError):
        ssl.create_default_context().load_cert_chain(client.certificate, client.encrypted_key, "wrong")


@pytest.mark.parametrize("kind", ["pkcs12", "jks"])
def test_stores_as_java_reads_them(certificates: Certificates, kind: str) -> None:
    def entry(store: Path) -> str:
        return keytool("-list", "-keystore", store, "-storetype", kind.upper(), "-storepass", STORE_PASSWORD)

    assert "PrivateKeyEntry" in entry(getattr(certificates.client, kind))
    assert "trustedCertEntry" in entry(getattr(certificates.authority, kind))
