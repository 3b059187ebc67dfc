"""A real broker as enterprises run it: a listener for each way to log in, and ACLs that decide what a login may do.

Every way names the same user (a password's user, a certificate's CN, a token's subject), so one set of ACLs serves all.
Users of SCRAM, ACLs and a listener's certificate can be changed while it runs. A connection that is logged in stays so,
but for the listener BRIEF, where it has to log in again every few seconds, and for tokens, with which it expires.
"""

import ssl
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from tests.secure.certificates import STORE_PASSWORD, Certificates, Identity
from tests.secure.ports import HOST, lasting_ports
from tests.secure.token_endpoint import AUDIENCE, TokenEndpoint
from tests.waiting import until
from turnout.kafka.embedded import EmbeddedBroker

ANSWER_SECONDS = 10.0
BRIEF_SECONDS = 3.0
"""How long a login lasts on the listener BRIEF."""
SCRAM_ITERATIONS = 4096
"""The fewest that Kafka takes."""

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer"


class Listener(Enum):
    """By what it speaks; the value is Kafka's name for that."""

    protocol: str

    def __new__(cls, name: str, protocol: str) -> Self:
        listener = object.__new__(cls)
        listener._value_, listener.protocol = name, protocol
        return listener

    TLS = "TLS", "SSL"
    """Shows a certificate and asks for none: whoever comes is User:ANONYMOUS, who may do anything here."""
    MUTUAL = "MUTUAL", "SSL"
    """Wants a client's certificate of the good authority."""
    PASSWORD = "PASSWORD", "SASL_PLAINTEXT"
    """PLAIN, SCRAM-SHA-256, SCRAM-SHA-512; so are the next two."""
    PASSWORD_TLS = "PASSWORDTLS", "SASL_SSL"
    BRIEF = "BRIEF", "SASL_PLAINTEXT"
    TOKEN = "TOKEN", "SASL_PLAINTEXT"
    """OAUTHBEARER; so is the next."""
    TOKEN_TLS = "TOKENTLS", "SASL_SSL"
    EXPIRED = "EXPIRED", "SSL"
    """The rest are as TLS, each with another bad certificate."""
    OTHER_HOST = "OTHERHOST", "SSL"
    NOT_YET_VALID = "NOTYETVALID", "SSL"

    @property
    def prefix(self) -> str:
        return f"listener.name.{self.value.lower()}."


class SecureBroker:
    """`start()`, `stop()`, or as a context manager. The token endpoint must be up when it starts."""

    def __init__(
        self,
        directory: Path,
        jars: Sequence[Path],
        certificates: Certificates,
        tokens: TokenEndpoint,
        users: Mapping[str, str],
    ) -> None:
        """`users`: name -> password, for PLAIN (for good) and for SCRAM (to begin with)."""
        self._users = dict(users)
        self._ports = dict(zip(Listener, lasting_ports(len(Listener)), strict=True))
        self.embedded = EmbeddedBroker(
            directory,
            jars,
            properties={
                **_common(),
                **_certificates(certificates),
                **_passwords(users),
                **_tokens(tokens),
            },
            listeners=[f"{listener.value}://{self.address(listener)}" for listener in Listener],
            jvm_flags=[f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.jwks_url}"],
        )

    def address(self, listener: Listener) -> str:
        """For `bootstrap.servers`."""
        return f"{HOST}:{self._ports[listener]}"

    def start(self) -> None:
        self.embedded.start()
        for user, password in self._users.items():
            self.set_password(user, password)

    def stop(self) -> None:
        self.embedded.stop()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @cached_property
    def admin(self) -> AdminClient:
        """May do anything. One, because a client that is dropped takes its unanswered requests with it."""
        return AdminClient({"bootstrap.servers": self.embedded.bootstrap, "log_level": 0})

    def set_password(self, user: str, password: str) -> None:
        """For SCRAM; a new user is made."""
        self._alter_users(
            UserScramCredentialUpsertion(
                user, ScramCredentialInfo(mechanism, SCRAM_ITERATIONS), password=password.encode()
            )
            for mechanism in _SCRAM
        )

    def remove_user(self, user: str) -> None:
        """From SCRAM."""
        self._alter_users(UserScramCredentialDeletion(user, mechanism) for mechanism in _SCRAM)

    def _alter_users(self, alterations: Iterable[UserScramCredentialAlteration]) -> None:
        for alteration in alterations:  # one by one: Kafka takes one of each user in a request
            asked = self.admin.alter_user_scram_credentials([alteration], request_timeout=ANSWER_SECONDS)
            for done in asked.values():
                done.result()

    def allow(self, user: str, operation: AclOperation, *topics: str) -> None:
        self._allow(AclBinding(*_rule(user, operation, topic)) for topic in topics)

    def allow_prefixed(self, user: str, prefix: str, *operations: AclOperation) -> None:
        """On all topics whose names begin so."""
        prefixed = ResourcePatternType.PREFIXED
        self._allow(AclBinding(*_rule(user, operation, prefix, prefixed)) for operation in operations)

    def _allow(self, rules: Iterable[AclBinding]) -> None:
        bindings = list(rules)
        for done in self.admin.create_acls(bindings, request_timeout=ANSWER_SECONDS).values():
            done.result()

    def revoke(self, user: str, operation: AclOperation, *topics: str) -> None:
        """What was allowed."""
        filters = [AclBindingFilter(*_rule(user, operation, topic)) for topic in topics]
        for done in self.admin.delete_acls(filters, request_timeout=ANSWER_SECONDS).values():
            assert done.result(), "there was nothing to revoke"

    def present(self, listener: Listener, identity: Identity) -> None:
        """Show this certificate to whoever connects from now on. Its CN and hosts must be those of the one before."""
        resource = ConfigResource(
            ConfigResource.Type.BROKER,
            "1",
            incremental_configs=[
                ConfigEntry(f"{listener.prefix}{name}", value, incremental_operation=AlterConfigOpType.SET)
                for name, value in _keystore(identity.pkcs12, "PKCS12").items()
            ],
        )
        for done in self.admin.incremental_alter_configs([resource], request_timeout=ANSWER_SECONDS).values():
            done.result()
        until(lambda: self._shown(listener) == identity.certificate.read_text(), f"{listener} shows it")

    def _shown(self, listener: Listener) -> str:
        return ssl.get_server_certificate((HOST, self._ports[listener]))


_SCRAM = (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)


def _rule(
    user: str, operation: AclOperation, topic: str, pattern: ResourcePatternType = ResourcePatternType.LITERAL
) -> tuple[ResourceType, str, ResourcePatternType, str, str, AclOperation, AclPermissionType]:
    """In the order in which a binding and a filter take it."""
    principal = f"User:{user}"
    return ResourceType.TOPIC, topic, pattern, principal, "*", operation, AclPermissionType.ALLOW


def _common() -> dict[str, str]:
    protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
    protocols |= {listener.value: listener.protocol for listener in Listener}
    return {
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "inter.broker.listener.name": "PLAINTEXT",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",  # the tests themselves, and the broker
        # A refused login is answered at once: the delay protects from guessing, and costs each test as much.
        "connection.failed.authentication.delay.ms": "0",
        # Few connections, many listeners.
        "num.network.threads": "1",
    }


def _certificates(certificates: Certificates) -> dict[str, str]:
    """Every form of a store is some listener's: what the broker reads, Java reads."""
    server = certificates.server
    stores = {
        Listener.TLS: _keystore(server.pkcs12, "PKCS12"),
        Listener.MUTUAL: _keystore(server.jks, "JKS") | _truststore(certificates.authority.jks, "JKS"),
        Listener.PASSWORD_TLS: _keystore(server.encrypted_pem, "PEM"),
        Listener.TOKEN_TLS: _keystore(server.pem, "PEM"),
        Listener.EXPIRED: _keystore(certificates.expired.pkcs12, "PKCS12"),
        Listener.OTHER_HOST: _keystore(certificates.other_host.pkcs12, "PKCS12"),
        Listener.NOT_YET_VALID: _keystore(certificates.not_yet_valid.pkcs12, "PKCS12"),
    }
    return {
        **{listener.prefix + name: value for listener, store in stores.items() for name, value in store.items()},
        Listener.MUTUAL.prefix + "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/",
    }


def _keystore(store: Path, kind: str) -> dict[str, str]:
    passwords = {"ssl.keystore.password": STORE_PASSWORD, "ssl.key.password": STORE_PASSWORD}
    if kind == "PEM":  # which has no password of its own, and none for a key that is not encrypted
        del passwords["ssl.keystore.password"]
        if b"ENCRYPTED" not in store.read_bytes():
            passwords = {}
    return {"ssl.keystore.location": str(store), "ssl.keystore.type": kind, **passwords}


def _truststore(store: Path, kind: str) -> dict[str, str]:
    return {
        "ssl.truststore.location": str(store),
        "ssl.truststore.type": kind,
        "ssl.truststore.password": STORE_PASSWORD,
    }


def _passwords(users: Mapping[str, str]) -> dict[str, str]:
    known = " ".join(f'user_{user}="{password}"' for user, password in users.items())
    properties: dict[str, str] = {}
    for listener in (Listener.PASSWORD, Listener.PASSWORD_TLS, Listener.BRIEF):
        properties |= {
            f"{listener.prefix}sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            f"{listener.prefix}plain.sasl.jaas.config": f"{PLAIN_MODULE} required {known};",
            f"{listener.prefix}scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
            f"{listener.prefix}scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        }
    return properties | {f"{Listener.BRIEF.prefix}connections.max.reauth.ms": str(int(BRIEF_SECONDS * 1000))}


def _tokens(tokens: TokenEndpoint) -> dict[str, str]:
    properties = {
        "sasl.oauthbearer.jwks.endpoint.url": tokens.jwks_url,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": tokens.issuer,
        # Tokens of a few seconds are tested: none lives on for the usual half minute.
        "sasl.oauthbearer.clock.skew.seconds": "0",
    }
    for listener in (Listener.TOKEN, Listener.TOKEN_TLS):
        own = f"{listener.prefix}oauthbearer."
        properties |= {
            f"{listener.prefix}sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{own}sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required;",
            f"{own}sasl.server.callback.handler.class": f"{OAUTH}.OAuthBearerValidatorCallbackHandler",
            # A connection lasts as long as its token, at most this long.
            f"{own}connections.max.reauth.ms": "3600000",
        }
    return properties
