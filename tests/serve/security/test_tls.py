import ssl
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from tests.secure.certificates import Certificates
from tests.serve.security.guarded import TOKENS, VIEWER, bearer, guarded
from turnout.config_access import TlsConfig
from turnout.errors import SetupError
from turnout.serve.tls import check_certificate


def test_with_a_certificate_everything_is_encrypted(tmp_path: Path, certificates: Certificates) -> None:
    identity = certificates.server
    tls = {"certificate": str(identity.certificate), "key": str(identity.key)}
    trust = ssl.create_default_context(cafile=str(certificates.authority.certificate))
    with guarded(tmp_path, {"tls": tls, "auth": {"tokens": TOKENS}}) as turnout:
        assert turnout.url.startswith("https://127.0.0.1:")
        with turnout.client(VIEWER, verify=trust) as http:
            answer = http.get("/api/tables")
            assert answer.status_code == 200
            assert answer.headers["strict-transport-security"] == "max-age=31536000"
            assert http.post("/login", data={"token": VIEWER}).headers["set-cookie"].startswith("__Host-turnout_")
        address = f"{turnout.socket_url}/api/pulse"
        with connect(address, ssl=trust, additional_headers=bearer(VIEWER)) as pulse:
            assert pulse.recv(10)
        with pytest.raises(httpx.TransportError):
            httpx.get(turnout.url.replace("https", "http"))


def test_a_certificate_that_cannot_be_used_is_said_to_be_so(tmp_path: Path, certificates: Certificates) -> None:
    good = certificates.server
    text = tmp_path / "text"
    text.write_text("no certificate")
    cases = {
        (tmp_path / "none", good.key): r"serve\.tls\.certificate: the file .*none cannot be read: No such file",
        (good.certificate, tmp_path / "none"): r"serve\.tls\.key: the file .*none cannot be read: No such file",
        (text, good.key): "one of them is not in PEM, or damaged",
        (good.certificate, text): "one of them is not in PEM, or damaged",
        (good.certificate, certificates.client.key): "the key is not that of the certificate",
        (good.certificate, good.usual_encrypted_key): "it has a password",
    }
    for (certificate, key), said in cases.items():
        with pytest.raises(SetupError, match=said):
            check_certificate(TlsConfig(certificate=str(certificate), key=str(key)))
    check_certificate(TlsConfig())
