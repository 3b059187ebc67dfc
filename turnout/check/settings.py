"""What the properties of a Kafka come to, read as both clients will read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnout.kafka.diagnosis.client_certificate import ClientCertificate, read_client_certificate
from turnout.kafka.diagnosis.logins import mechanism_of
from turnout.kafka.diagnosis.reach import Server, servers_of
from turnout.kafka.diagnosis.tls import Meeting, context_of
from turnout.kafka.login.model import Login
from turnout.kafka.login.parse import read_login
from turnout.kafka.security import for_java, for_librdkafka
from turnout.properties import Properties


@dataclass(frozen=True)
class Settings:
    """What the properties of a Kafka come to."""

    login: Login
    client: Properties
    """As librdkafka takes them."""
    certificate: ClientCertificate | None
    meeting: Meeting
    servers: Sequence[Server]

    @classmethod
    def read(cls, properties: Mapping[str, str]) -> "Settings":
        """Says what is wrong with them, for either client, as far as that can be seen from here."""
        login, client = read_login(properties), for_librdkafka(properties)
        for_java(properties)
        certificate = read_client_certificate(client)
        context = None
        if login.tls is not None:
            context = context_of(client, "ssl.ca")
            context.check_hostname = login.tls.checks_host
            if certificate is not None:
                certificate.load_into(context)
        meeting = Meeting(login.protocol, mechanism_of(login), context, certificate)
        return cls(login, client, certificate, meeting, servers_of(properties["bootstrap.servers"]))
