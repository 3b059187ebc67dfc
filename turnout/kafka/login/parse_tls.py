"""Certificates: PEM files and texts (librdkafka's way) and stores (Java's), understood as one."""

from collections.abc import Callable

from turnout.errors import PropertyError
from turnout.kafka.login.given import Given, one_of, property_of
from turnout.kafka.login.model import (
    Identity,
    KeyStore,
    PemFile,
    PemIdentity,
    PemKey,
    PemText,
    Protocol,
    Tls,
    Trust,
    TrustStore,
)

HOST_CHECK = "ssl.endpoint.identification.algorithm"
VERIFICATION = "enable.ssl.certificate.verification"
TLS_NAMES = frozenset(
    f"""
    {HOST_CHECK}
    {VERIFICATION}
    ssl.ca.location ssl.ca.pem
    ssl.certificate.location ssl.certificate.pem
    ssl.key.location ssl.key.pem ssl.key.password
    ssl.keystore.certificate.chain ssl.keystore.key
    ssl.keystore.location ssl.keystore.password ssl.keystore.type
    ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """.split()
)
_CERTIFICATES = (
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.keystore.location",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
)


def read_tls(given: Given, protocol: Protocol) -> Tls | None:
    if not protocol.has_tls:
        for where, _ in given.filled(*_CERTIFICATES):
            if given.text(where) != "probe":
                wanted = Protocol.SASL_SSL if protocol.has_sasl else Protocol.SSL
                raise PropertyError(
                    where,
                    f"{where} is given, but security.protocol is {protocol}, which has no certificates: "
                    f"set security.protocol to {wanted}, or remove {where}",
                )
        return None
    _must_verify(given)
    return Tls(
        trust=read_trust(given, pem="ssl.ca"), identity=_read_identity(given), checks_host=_read_host_check(given)
    )


def _must_verify(given: Given) -> None:
    if (given.text(VERIFICATION) or "true").lower() not in ("true", "1", "t"):
        raise PropertyError(
            VERIFICATION,
            f"{VERIFICATION} cannot be turned off, because Kafka's Java client always verifies: name the authority "
            f"that signed the broker's certificate in ssl.ca.location; if only the host name differs, set {HOST_CHECK} "
            "to none",
        )


def _read_host_check(given: Given) -> bool:
    said = given.secret(HOST_CHECK)
    match "https" if said is None else said.get_secret_value().lower():
        case "https":
            return True
        case "" | "none":
            return False
        case _:
            raise PropertyError(
                HOST_CHECK, f"{HOST_CHECK} must be https (host names are checked), or none or empty (they are not)"
            )


def read_trust(given: Given, pem: str, java: Callable[[str], str] = str) -> Trust | None:
    """What is trusted: `<pem>.location` and `<pem>.pem` in librdkafka's spelling; `java` says where Java's stand."""
    pems: list[tuple[str, PemFile | PemText]] = []
    for where, value in given.filled(f"{pem}.location"):
        if value.get_secret_value() != "probe":  # the system's own, as without it
            pems.append((where, PemFile(location=value.get_secret_value())))
    for where, value in given.filled(f"{pem}.pem", java("ssl.truststore.certificates")):
        pems.append((where, PemText(text=value.get_secret_value())))
    location, kind = given.text(java("ssl.truststore.location")), given.text(java("ssl.truststore.type"))
    password = given.secret(java("ssl.truststore.password"))
    is_pem = (kind or "").upper() == "PEM"
    if is_pem and location:
        pems.append((java("ssl.truststore.location"), PemFile(location=location)))
    _no_stray_password("ssl.truststore", java, password is not None, location, is_pem)
    found = one_of("authorities (CAs)", pems)
    if location is None or is_pem:
        return found
    return TrustStore(location=location, password=password, type=kind and kind.upper(), pem=found)


def _no_stray_password(
    store: str, java: Callable[[str], str], has_password: bool, location: str | None, is_pem: bool
) -> None:
    where = java(f"{store}.password")
    if has_password and location is None:
        raise PropertyError(
            property_of(where), f"{where} is given without {store}.location: name the store, or remove the password"
        )
    if has_password and is_pem:
        instead = "the password of a key is ssl.key.password" if store == "ssl.keystore" else "remove it"
        raise PropertyError(
            property_of(where), f"{where} does not fit {store}.type PEM, which has no password of its own: {instead}"
        )


def _read_identity(given: Given) -> Identity | None:
    location, kind = given.text("ssl.keystore.location"), given.text("ssl.keystore.type")
    password = given.secret("ssl.keystore.password")
    is_pem = (kind or "").upper() == "PEM"
    _no_stray_password("ssl.keystore", str, password is not None, location, is_pem)
    pem = _read_pem_identity(given, location if is_pem else None)
    if location is None or is_pem:
        return pem
    return KeyStore(
        location=location,
        password=password,
        key_password=given.secret("ssl.key.password"),
        type=kind and kind.upper(),
        pem=pem,
    )


def _read_pem_identity(given: Given, pem_store: str | None) -> PemIdentity | None:
    """`pem_store`: a file that holds both the certificate and the key."""
    chains: list[tuple[str, PemFile | PemText]] = []
    keys: list[tuple[str, PemFile | PemKey]] = []
    for where, value in given.filled("ssl.certificate.location"):
        chains.append((where, PemFile(location=value.get_secret_value())))
    for where, value in given.filled("ssl.certificate.pem", "ssl.keystore.certificate.chain"):
        chains.append((where, PemText(text=value.get_secret_value())))
    for where, value in given.filled("ssl.key.location"):
        keys.append((where, PemFile(location=value.get_secret_value())))
    for where, value in given.filled("ssl.key.pem", "ssl.keystore.key"):
        keys.append((where, PemKey(text=value)))
    if pem_store is not None:
        chains.append(("ssl.keystore.location", PemFile(location=pem_store)))
        keys.append(("ssl.keystore.location", PemFile(location=pem_store)))
    chain, key = one_of("certificates of the client", chains), one_of("keys of the client", keys)
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        where, missing = (chains[0][0], "ssl.key.location") if key is None else (keys[0][0], "ssl.certificate.location")
        raise PropertyError(where, f"{where} is given without {missing}: a client's certificate needs both")
    return PemIdentity(chain=chain, key=key, key_password=given.secret("ssl.key.password"))
