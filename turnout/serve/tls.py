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
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key, password=_no_password)
    except ssl.SSLError as error:
        mismatch = error.reason == "KEY_VALUES_MISMATCH"
        why = "the key is not that of the certificate" if mismatch else "one of them is not in PEM, or damaged"
        raise SetupError(f"serve.tls: {why} ({tls.certificate}, {tls.key}).") from None


def _no_password() -> str:
    """Called for a key that has one: else a terminal would be asked, which nobody looks at."""
    raise SetupError("serve.tls.key: it has a password: remove it (openssl pkey -in … -out …), and protect the file.")
