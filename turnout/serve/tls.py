"""The server's certificate, tried before anything is started."""

import ssl
from pathlib import Path

from turnout.config_access import TlsConfig
from turnout.errors import SetupError


def check_certificate(tls: TlsConfig) -> None:
    """Raises with the file that is wrong, and why."""
    if not tls.certificate:
        return
    for name, path in (("certificate", tls.certificate), ("key", tls.key)):
        try:
            Path(path).read_bytes()
        except OSError as error:
            raise SetupError(f"serve.tls.{name}: the file {path} cannot be read: {error.strerror}.") from None
    try:
        # An empty password, so that a key with one fails instead of asking a terminal that nobody looks at.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key, password="")
    except (ssl.SSLError, ValueError) as error:
        raise SetupError(f"serve.tls: {_reason(error)} ({tls.certificate}, {tls.key}).") from None


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", "") or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "the key is not that of the certificate"
    if "DECRYPT" in reason or "PASSWORD" in reason:
        return "the key has a password: remove it (openssl pkey -in … -out …), and protect the file"
    return "the certificate or its key is not in PEM, or damaged"
