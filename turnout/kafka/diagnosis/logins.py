"""Whether a login fits the listener that it meets, as whom it comes, and why it was refused."""

from turnout.kafka.diagnosis.certificates import COMPARE_CLOCKS
from turnout.kafka.diagnosis.client_certificate import ClientCertificate
from turnout.kafka.diagnosis.listener import Spoken
from turnout.kafka.diagnosis.obstacle import Obstacle
from turnout.kafka.diagnosis.tls import Met
from turnout.kafka.diagnosis.token import Token
from turnout.kafka.login.model import Login, OAuthLogin, PasswordLogin, PasswordMechanism, Protocol
from turnout.kafka.login.parse_sasl import GSSAPI, OAUTHBEARER


def mechanism_of(login: Login) -> str:
    match login.sasl:
        case None:
            return ""
        case PasswordLogin(mechanism=mechanism):
            return mechanism.value
        case OAuthLogin():
            return OAUTHBEARER
        case _:
            return GSSAPI


def must_fit(login: Login, met: Met) -> None:
    """Before anything secret is sent."""
    mechanism = mechanism_of(login)
    if met.mechanisms is None:
        if mechanism:
            without = Protocol.SSL if login.protocol.has_tls else Protocol.PLAINTEXT
            raise Obstacle(
                f"the server has no login, but security.protocol is {login.protocol}",
                "name the port of the broker's listener with a login in bootstrap.servers; or "
                f"{Spoken(without).advice} and remove the sasl properties",
            )
    elif not mechanism:
        wanted = Protocol.SASL_SSL if login.protocol.has_tls else Protocol.SASL_PLAINTEXT
        raise Obstacle(
            f"the server wants a login, but security.protocol is {login.protocol}",
            f"{Spoken(wanted, met.mechanisms).advice}, with the user and the password, or the client, that were made "
            "for you",
        )
    elif mechanism not in met.mechanisms:
        raise Obstacle(
            f"the server does not have the mechanism {mechanism}: it has {', '.join(met.mechanisms) or 'none'}",
            f"set sasl.mechanism to {' or '.join(met.mechanisms)}, with a login for it; or have {mechanism} added to "
            "the broker's sasl.enabled.mechanisms",
        )


def as_whom(login: Login, certificate: ClientCertificate | None) -> str:
    match login.sasl:
        case PasswordLogin(mechanism=mechanism, user=user):
            return f"{mechanism} as {user}"
        case OAuthLogin(client_id=client_id):
            return f"{OAUTHBEARER} as the client {client_id}"
        case None if certificate is not None:
            return f"by the client's certificate, {certificate.shown.subject}"
        case None:
            return "none is asked for"
        case _:
            return GSSAPI


def principal_of(login: Login, certificate: ClientCertificate | None, token: Token | None) -> str:
    """As the broker's ACLs name it, unless the broker maps names."""
    match login.sasl:
        case PasswordLogin(user=user):
            return f"User:{user}"
        case OAuthLogin(client_id=client_id):
            return f"User:{token.subject if token else client_id}"
        case None:
            return f"User:{certificate.shown.subject}" if certificate is not None else "User:ANONYMOUS"
        case _:
            return "User:<the Kerberos principal's name>"


def refused(login: Login, token: Token | None, said: str) -> Obstacle:
    """`said`: by the broker, or by librdkafka."""
    match login.sasl:
        case PasswordLogin() as sasl if "authentication" in said.lower():
            return _refused_password(sasl, said)
        case OAuthLogin() if token is not None and "acquire" not in said:
            return Obstacle(
                f"the broker refuses the token ({said}). It says: {token}",
                "compare that with the broker's sasl.oauthbearer.expected.issuer and …expected.audience; its "
                "…jwks.endpoint.url must have the key that signed the token; extensions (logicalCluster, "
                f"identityPoolId) must be those of the cluster; and {COMPARE_CLOCKS}, on the broker too",
            )
        case _:
            return Obstacle(f"the login did not come about ({said})", "see what the broker's log says at this moment")


def _refused_password(login: PasswordLogin, said: str) -> Obstacle:
    if login.mechanism is PasswordMechanism.PLAIN:
        source = (
            "With Confluent Cloud they are an API key and its secret; with Azure Event Hubs $ConnectionString and the "
            "connection string"
        )
    else:
        source = (
            f"A user has a password for each mechanism; {login.mechanism} must be among those that this lists: "
            f"`kafka-configs --bootstrap-server … --describe --entity-type users --entity-name {login.user}`"
        )
    return Obstacle(
        f"the broker refuses the user {login.user} with the password that is given ({said})",
        f"correct sasl.username and sasl.password (username and password in sasl.jaas.config). {source}",
    )
