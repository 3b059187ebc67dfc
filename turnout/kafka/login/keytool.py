"""Java's keytool, which is wherever Java is: it reads JKS stores as Spark will read them.

Passwords reach it in its environment, never on its command line, and files that it writes are for this user alone.
"""

import os
import re
import secrets
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from turnout.errors import ConfigError, SetupError
from turnout.java import INSTALL_JAVA, find_java
from turnout.kafka.login.model import KeyStore, TrustStore
from turnout.kafka.login.pem import certificates_in

KEYTOOL_SECONDS = 30
"""It takes about one; on a machine with nothing to spare it may take ten times as long."""

_KEY_ENTRY = re.compile(r"^Alias name: (.*)\n(?:.*\n)??Entry type: PrivateKeyEntry$", re.MULTILINE)


class Pkcs12(NamedTuple):
    content: bytes
    password: SecretStr


def listed_certificates(store: TrustStore) -> str:
    """All certificates of a store, as PEM text."""
    return certificates_in(_list("ssl.truststore", store))


def key_as_pkcs12(store: KeyStore) -> Pkcs12:
    """The first key of a store and its certificates. The file that keytool needs for that is gone at once."""
    entry = _KEY_ENTRY.search(_list("ssl.keystore", store))
    if entry is None:
        raise ConfigError(f"ssl.keystore.location: {store.location} holds no private key: import the client's")
    password = SecretStr(secrets.token_urlsafe(32))
    with tempfile.TemporaryDirectory(prefix="turnout-") as directory:
        copy = Path(directory, "copy.p12")
        arguments = ["-importkeystore", "-noprompt", "-srckeystore", store.location, "-srcalias", entry[1]]
        arguments += ["-srcstorepass:env", "TURNOUT_STORE", "-srckeypass:env", "TURNOUT_KEY"]
        arguments += ["-destkeystore", str(copy), "-deststoretype", "PKCS12"]
        arguments += ["-deststorepass:env", "TURNOUT_COPY", "-destkeypass:env", "TURNOUT_COPY"]
        store_password = store.password or SecretStr("")
        passwords = {
            "TURNOUT_STORE": store_password,
            "TURNOUT_KEY": store.key_password or store_password,
            "TURNOUT_COPY": password,
        }
        _run("ssl.keystore", store.location, arguments, passwords)
        return Pkcs12(copy.read_bytes(), password)


def _list(name: str, store: TrustStore | KeyStore) -> str:
    arguments = ["-list", "-rfc", "-keystore", store.location]
    if store.password is None:  # then it asks, and takes an empty line for an answer
        return _run(name, store.location, arguments, {})
    return _run(
        name, store.location, [*arguments, "-storepass:env", "TURNOUT_STORE"], {"TURNOUT_STORE": store.password}
    )


def _run(name: str, location: str, arguments: list[str], passwords: Mapping[str, SecretStr]) -> str:
    """What keytool says. In an error it is not passed on: nobody knows what a store's alias may be."""
    try:
        answer = subprocess.run(
            [_find_keytool(), "-J-XX:TieredStopAtLevel=1", "-J-Duser.language=en", *arguments],
            input="\n",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=KEYTOOL_SECONDS,
            check=False,
            umask=0o077,
            env={**os.environ, **{variable: password.get_secret_value() for variable, password in passwords.items()}},
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{name}.location: {location} was not read by keytool in {KEYTOOL_SECONDS} s") from None
    if answer.returncode == 0:
        return answer.stdout
    raise ConfigError(f"{name}.location: {location} cannot be read: {_reason(name, location, answer.stdout)}")


def _reason(name: str, location: str, said: str) -> str:
    if "password was incorrect" in said:
        return f"{name}.password is wrong"
    if "Cannot recover key" in said:
        return "ssl.key.password is wrong"
    return f"see what `keytool -list -keystore {location}` says"


def _find_keytool() -> Path:
    java = find_java().path
    for place in (java, java.resolve()):
        if (keytool := place.with_name("keytool")).is_file():
            return keytool
    raise SetupError(f"There is no keytool beside {java}, and a JKS store needs it: {INSTALL_JAVA}.")
