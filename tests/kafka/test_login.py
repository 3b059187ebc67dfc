"""Properties of either client, or of both, are one login; a login is told to each client; and no secret shows."""

import json
import traceback
from collections.abc import Mapping

import pytest
from confluent_kafka import KafkaException, Producer
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from tests.kafka.logins import IDENTITIES, JAVA_IDENTITIES, JAVA_TRUSTS, LIBRDKAFKA_IDENTITIES, TRUSTS, logins
from turnout.errors import ConfigError
from turnout.kafka.login.model import (
    Login,
    OAuthLogin,
    Part,
    PasswordLogin,
    PasswordMechanism,
    PemFile,
    Protocol,
    Tls,
)
from turnout.kafka.login.parse import LOGIN_NAMES, read_login
from turnout.kafka.login.render_java import render_for_java
from turnout.kafka.login.render_librdkafka import render_for_librdkafka
from turnout.kafka.security import for_java, for_librdkafka

SECURITY = "org.apache.kafka.common.security"
PLAIN_MODULE = f"{SECURITY}.plain.PlainLoginModule"
SCRAM_MODULE = f"{SECURITY}.scram.ScramLoginModule"
OAUTH_MODULE = f"{SECURITY}.oauthbearer.OAuthBearerLoginModule"
HANDLER = f"{SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler"
ENDPOINT = "http://localhost:1/token"
SASL_SSL = {"security.protocol": "SASL_SSL"}
PLAIN = {**SASL_SSL, "sasl.mechanism": "PLAIN"}
SCRAM = {**SASL_SSL, "sasl.mechanism": "SCRAM-SHA-512"}
OAUTH = {**SASL_SSL, "sasl.mechanism": "OAUTHBEARER"}
SSL = {"security.protocol": "SSL"}
USER = {"sasl.username": "ann", "sasl.password": "s3cr3t"}
JAAS_PLAIN = {"sasl.jaas.config": f'{PLAIN_MODULE} required username="ann" password="s3cr3t";'}
JAAS_OAUTH = {"sasl.jaas.config": f'{OAUTH_MODULE} required clientId="turnout" clientSecret="s3cr3t";'}
AT_ENDPOINT = {"sasl.oauthbearer.token.endpoint.url": ENDPOINT}
CLIENT = {"sasl.oauthbearer.client.id": "turnout", "sasl.oauthbearer.client.secret": "s3cr3t"}

# -- each mechanism in each spelling

SCRAM_LOGIN = Login(
    protocol=Protocol.SASL_SSL,
    tls=Tls(trust=PemFile(location="/ca.pem")),
    sasl=PasswordLogin(mechanism=PasswordMechanism.SCRAM_SHA_256, user="ann", password=SecretStr("s3cr3t")),
)
OAUTH_LOGIN = Login(
    protocol=Protocol.SASL_SSL,
    tls=Tls(),
    sasl=OAuthLogin(
        endpoint=ENDPOINT,
        client_id="turnout",
        client_secret=SecretStr("s3cr3t"),
        scope="kafka read",
        extensions={"logicalCluster": "lkc-1", "identityPoolId": "pool-1"},
        trust=PemFile(location="/idp.pem"),
    ),
)
SPELLINGS = {
    "scram java": (
        SCRAM_LOGIN,
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": f'{SCRAM_MODULE} required username="ann" password="s3cr3t";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/ca.pem",
        },
    ),
    "scram librdkafka": (
        SCRAM_LOGIN,
        {
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": "scram-sha-256",
            **USER,
            "ssl.ca.location": "/ca.pem",
            "enable.ssl.certificate.verification": "true",
        },
    ),
    "scram mixed": (
        SCRAM_LOGIN,
        {
            "security.protocol": "Sasl_Ssl",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.mechanisms": "scram-sha-256",
            "sasl.jaas.config": f"kafkashaded.{SCRAM_MODULE} required username='ann' password=s3cr3t;",
            "sasl.username": "ann",
            "ssl.ca.location": "/ca.pem",
            "ssl.truststore.location": "/ca.pem",
            "ssl.truststore.type": "pem",
        },
    ),
    "oauth java": (
        OAUTH_LOGIN,
        {
            **OAUTH,
            **AT_ENDPOINT,
            "sasl.login.callback.handler.class": HANDLER,
            "sasl.jaas.config": f'{OAUTH_MODULE} required clientId="turnout" clientSecret="s3cr3t" scope="kafka read" '
            'extension_logicalCluster="lkc-1" extension_identityPoolId="pool-1" '
            'ssl.truststore.type="PEM" ssl.truststore.location="/idp.pem";',
        },
    ),
    "oauth java, newer": (
        OAUTH_LOGIN,
        {
            **OAUTH,
            **AT_ENDPOINT,
            "sasl.login.callback.handler.class": HANDLER,
            "sasl.oauthbearer.client.credentials.client.id": "turnout",
            "sasl.oauthbearer.client.credentials.client.secret": "s3cr3t",
            "sasl.oauthbearer.scope": "kafka read",
            "sasl.jaas.config": f'{OAUTH_MODULE} required extension_logicalCluster="lkc-1" '
            'extension_identityPoolId="pool-1" ssl.truststore.type="PEM" ssl.truststore.location="/idp.pem";',
        },
    ),
    "oauth librdkafka": (
        OAUTH_LOGIN,
        {
            **SASL_SSL,
            **AT_ENDPOINT,
            **CLIENT,
            "sasl.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.method": "OIDC",
            "sasl.oauthbearer.scope": "kafka read",
            "sasl.oauthbearer.extensions": "logicalCluster=lkc-1, identityPoolId=pool-1",
            "https.ca.location": "/idp.pem",
        },
    ),
    "oauth mixed": (
        OAUTH_LOGIN,
        {
            **SASL_SSL,
            **AT_ENDPOINT,
            "sasl.mechanisms": "oauthbearer",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "turnout",
            "sasl.login.callback.handler.class": HANDLER.replace("oauthbearer.", "oauthbearer.secured."),
            "sasl.oauthbearer.extensions": "logicalCluster=lkc-1",
            "sasl.jaas.config": f'kafkashaded.{OAUTH_MODULE} required clientSecret="s3cr3t" scope="kafka read" '
            'extension_identityPoolId="pool-1" extension_logicalCluster="lkc-1";',
            "https.ca.location": "/idp.pem",
        },
    ),
}


@pytest.mark.parametrize(("login", "written"), SPELLINGS.values(), ids=SPELLINGS)
def test_a_login_is_the_same_in_every_spelling(login: Login, written: dict[str, str]) -> None:
    assert read_login(written) == login
    assert dict(for_java(written)) == render_for_java(login)
    assert dict(for_librdkafka(written)) == render_for_librdkafka(login)


def test_a_token_login_is_told_to_java_as_3_9_wants_it() -> None:
    assert render_for_java(OAUTH_LOGIN) == SPELLINGS["oauth java"][1]


def test_a_token_login_is_told_to_librdkafka_as_it_wants_it() -> None:
    own = render_for_librdkafka(OAUTH_LOGIN)
    assert own == {
        **SPELLINGS["oauth librdkafka"][1],
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool-1",
    }
    with pytest.raises(KafkaException, match=r"No such configuration property: \"no\.such\""):
        Producer({**own, "no.such": ""})  # it took all before that


# -- contradictions

CONTRADICTIONS = {
    "two users": (
        {**PLAIN, **USER, **JAAS_PLAIN, "sasl.username": "bob"},
        ["sasl.username", "sasl.jaas.config (username)", "two different users", "keep one"],
    ),
    "two passwords": (
        {**PLAIN, **JAAS_PLAIN, "sasl.password": "s3cr3t too"},
        ["sasl.password", "sasl.jaas.config (password)", "two different passwords"],
    ),
    "two mechanisms": (
        {**PLAIN, **USER, "sasl.mechanisms": "SCRAM-SHA-256"},
        ["sasl.mechanism and sasl.mechanisms", "two different mechanisms"],
    ),
    "another module": (
        {**SCRAM, **JAAS_PLAIN},
        ["sasl.jaas.config", "sasl.mechanism SCRAM-SHA-512", "needs ScramLoginModule"],
    ),
    "two authorities": (
        {**SSL, "ssl.ca.location": "/a.pem", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/b.pem"},
        ["ssl.ca.location and ssl.truststore.location", "two different authorities"],
    ),
    "two authorities of the endpoint": (
        {**OAUTH, **AT_ENDPOINT, **CLIENT, "https.ca.location": "/a.pem", "https.ca.pem": "b"},
        ["https.ca.location and https.ca.pem"],
    ),
    "two certificates": (
        {**SSL, "ssl.certificate.pem": "a", "ssl.keystore.certificate.chain": "b", "ssl.key.pem": "s3cr3t"},
        ["ssl.certificate.pem and ssl.keystore.certificate.chain"],
    ),
    "two keys": (
        {**SSL, "ssl.certificate.pem": "a", "ssl.keystore.key": "s3cr3t", "ssl.key.pem": "s3cr3t too"},
        ["ssl.key.pem and ssl.keystore.key"],
    ),
    "a mechanism without SASL": (
        {**SSL, "sasl.mechanism": "PLAIN", **USER},
        ["sasl.mechanism", "security.protocol is SSL", "set security.protocol to SASL_SSL"],
    ),
    "a user without a protocol": ({**USER}, ["sasl.username", "security.protocol is PLAINTEXT", "SASL_SSL"]),
    "certificates without TLS": (
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", **USER, "ssl.ca.location": "/ca.pem"},
        ["ssl.ca.location", "security.protocol is SASL_PLAINTEXT", "set security.protocol to SASL_SSL"],
    ),
    "SASL without a mechanism": (
        {**SASL_SSL, **JAAS_PLAIN},
        ["security.protocol is SASL_SSL", "sasl.mechanism is missing", "set it to PLAIN"],
    ),
    "an unknown protocol": ({"security.protocol": "TLS"}, ["security.protocol", "PLAINTEXT, SSL, SASL_PLAINTEXT"]),
    "an unknown mechanism": (
        {**SASL_SSL, "sasl.mechanism": "AWS_MSK_IAM"},
        ["sasl.mechanism", "both of Turnout's Kafka clients", "SCRAM-SHA-512"],
    ),
    "no endpoint": (
        {**OAUTH, **CLIENT},
        ["sasl.mechanism is OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url is missing"],
    ),
    "a secret in the endpoint": (
        {**OAUTH, **CLIENT, "sasl.oauthbearer.token.endpoint.url": "https://turnout:s3cr3t@example.com/token"},
        ["sasl.oauthbearer.token.endpoint.url", "no user or password", "sasl.oauthbearer.client.secret"],
    ),
    "no address": (
        {**OAUTH, **CLIENT, "sasl.oauthbearer.token.endpoint.url": "login.example.com"},
        ["sasl.oauthbearer.token.endpoint.url", "https://"],
    ),
    "a broken address": (
        {**OAUTH, **CLIENT, "sasl.oauthbearer.token.endpoint.url": "https://[s3cr3t"},
        ["sasl.oauthbearer.token.endpoint.url", "https://"],
    ),
    "no client secret": (
        {**OAUTH, **AT_ENDPOINT, "sasl.oauthbearer.client.id": "turnout"},
        ["needs sasl.oauthbearer.client.secret (clientSecret in sasl.jaas.config)"],
    ),
    "two client secrets": (
        {**OAUTH, **AT_ENDPOINT, **CLIENT, **JAAS_OAUTH, "sasl.oauthbearer.client.secret": "s3cr3t too"},
        ["sasl.oauthbearer.client.secret and sasl.jaas.config (clientSecret)", "two different client secrets"],
    ),
    "two values of an extension": (
        {
            **OAUTH,
            **AT_ENDPOINT,
            **CLIENT,
            "sasl.oauthbearer.extensions": "logicalCluster=a",
            "sasl.jaas.config": f'{OAUTH_MODULE} required extension_logicalCluster="b";',
        },
        ["sasl.oauthbearer.extensions and sasl.jaas.config", "the extension logicalCluster"],
    ),
    "extensions that are none": (
        {**OAUTH, **AT_ENDPOINT, **CLIENT, "sasl.oauthbearer.extensions": "lkc-1"},
        ["sasl.oauthbearer.extensions", "logicalCluster=lkc-1"],
    ),
    "another method": (
        {**OAUTH, **AT_ENDPOINT, **CLIENT, "sasl.oauthbearer.method": "default"},
        ["sasl.oauthbearer.method must be oidc"],
    ),
    "another handler": (
        {**OAUTH, **AT_ENDPOINT, **CLIENT, "sasl.login.callback.handler.class": "com.example.Handler"},
        ["sasl.login.callback.handler.class", "remove it"],
    ),
    "an option that librdkafka has not": (
        {
            **OAUTH,
            **AT_ENDPOINT,
            **CLIENT,
            "sasl.jaas.config": f'{OAUTH_MODULE} required s3cr3t="x" ssl.protocol="TLS";',
        },
        ["sasl.jaas.config has 2 option(s)", "clientId, clientSecret"],
    ),
    "a user for a token login": (
        {**OAUTH, **AT_ENDPOINT, **CLIENT, **USER},
        ["sasl.username does not fit sasl.mechanism OAUTHBEARER"],
    ),
    "a client for a password login": (
        {**PLAIN, **USER, **CLIENT},
        ["sasl.oauthbearer.client.id does not fit sasl.mechanism PLAIN"],
    ),
    "a user without a password": ({**PLAIN, "sasl.username": "ann"}, ["sasl.username", "without sasl.password"]),
    "a password without a user": ({**PLAIN, "sasl.password": "s3cr3t"}, ["sasl.password", "without sasl.username"]),
    "neither": ({**PLAIN}, ["sasl.username and sasl.password are missing"]),
    "a delegation token": (
        {
            **SCRAM,
            "sasl.jaas.config": f'{SCRAM_MODULE} required username="a" password="s3cr3t" tokenauth="true";',
        },
        ["sasl.jaas.config (tokenauth)", "give a user and a password"],
    ),
    "no verification": (
        {**SSL, "enable.ssl.certificate.verification": "false"},
        ["enable.ssl.certificate.verification", "ssl.ca.location", "ssl.endpoint.identification.algorithm"],
    ),
    "a strange host check": (
        {**SSL, "ssl.endpoint.identification.algorithm": "s3cr3t"},
        ["ssl.endpoint.identification.algorithm must be https"],
    ),
    "a password of no store": (
        {**SSL, "ssl.truststore.password": "s3cr3t"},
        ["ssl.truststore.password", "without ssl.truststore.location"],
    ),
    "a password of a PEM file": (
        {**SSL, "ssl.keystore.type": "PEM", "ssl.keystore.location": "/a", "ssl.keystore.password": "s3cr3t"},
        ["ssl.keystore.password does not fit ssl.keystore.type PEM", "ssl.key.password"],
    ),
}


@pytest.mark.parametrize(("written", "said"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_contradiction_names_both_sides_and_what_to_do(written: dict[str, str], said: list[str]) -> None:
    for render in (for_java, for_librdkafka):
        with pytest.raises(ConfigError) as refused:
            render(written)
        assert [part for part in said if part not in str(refused.value)] == []
        assert "s3cr3t" not in "".join(traceback.format_exception(refused.value))


# -- there and back


@given(login=logins() | logins(TRUSTS, LIBRDKAFKA_IDENTITIES))
def test_a_login_told_to_librdkafka_reads_back_as_the_same(login: Login) -> None:
    assert read_login(render_for_librdkafka(login)) == login


@given(login=logins() | logins(JAVA_TRUSTS, JAVA_IDENTITIES))
def test_a_login_told_to_java_reads_back_as_the_same(login: Login) -> None:
    assert read_login(render_for_java(login)) == login


SAID_TOGETHER = [
    ("sasl.mechanism",),
    ("sasl.jaas.config", "sasl.username", "sasl.password", "sasl.oauthbearer.", "https."),
    ("ssl.truststore.", "ssl.ca."),
    ("ssl.keystore.", "ssl.certificate.", "ssl.key."),
    ("ssl.endpoint.", "security."),
]


@given(login=logins(TRUSTS, IDENTITIES), data=st.data())
def test_a_login_told_in_any_mix_of_the_two_reads_back_as_the_same(login: Login, data: st.DataObject) -> None:
    java, own = render_for_java(login), render_for_librdkafka(login)
    mixed: dict[str, str] = {}
    for group in SAID_TOGETHER:
        for spelling in data.draw(st.sampled_from([[java], [own], [java, own], [own, java]])):
            mixed |= {name: value for name, value in spelling.items() if name.startswith(group)}
    if login.sasl and "sasl.oauthbearer.token.endpoint.url" in java:
        mixed["sasl.oauthbearer.token.endpoint.url"] = java["sasl.oauthbearer.token.endpoint.url"]
    assert read_login(mixed) == login
    assert dict(for_java(mixed)) == java
    assert dict(for_librdkafka(mixed)) == own


# -- secrets

SECRET = "s3cr3t"
_SECRET_TEXT = st.sampled_from([SECRET, f'{SECRET}"', f"a {SECRET}", f"-----BEGIN PRIVATE KEY-----{SECRET}"])
_MODULES = st.sampled_from([PLAIN_MODULE, SCRAM_MODULE, OAUTH_MODULE, "x.Other"])
_JAAS = st.builds(
    lambda module, options, end: f"{module} required {options}{end}",
    _MODULES,
    st.lists(
        st.sampled_from(
            [
                f'username="ann" password="{SECRET}"',
                f'clientId="x" clientSecret="{SECRET}"',
                f'password="{SECRET} too"',
                f"password={SECRET}; x",
                f'{SECRET}="x"',
                f'ssl.truststore.location="/no/x.jks" ssl.truststore.password="{SECRET}"',
                f'extension_a="{SECRET},"',
                f'extension_{SECRET}="a"',
            ]
        ),
        max_size=3,
    ).map(" ".join),
    st.sampled_from([";", "", '"', " ; x"]),
)
_HOLDS_A_SECRET = {
    name: _JAAS if name == "sasl.jaas.config" else _SECRET_TEXT
    for name in LOGIN_NAMES
    if name.endswith((".password", ".secret", ".key", "key.pem", "jaas.config"))
}
_PUBLIC = {
    "security.protocol": st.sampled_from(["SSL", "SASL_SSL", "sasl_plaintext", "PLAINTEXT", "x"]),
    "sasl.mechanism": st.sampled_from(["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI", "x"]),
    "sasl.oauthbearer.token.endpoint.url": st.sampled_from([ENDPOINT, f"http://a:{SECRET}@localhost/", "//["]),
    "ssl.keystore.type": st.sampled_from(["PEM", "PKCS12", "JKS"]),
    "sasl.oauthbearer.method": st.sampled_from(["oidc", "default"]),
}
_ANY = {name: _HOLDS_A_SECRET.get(name, _PUBLIC.get(name, st.sampled_from(["x", ""]))) for name in sorted(LOGIN_NAMES)}


def shown(properties: Mapping[str, str]) -> list[str]:
    """All that there is to see of these properties on their way to the clients."""
    texts: list[str] = []
    for step in (read_login, for_java, for_librdkafka):
        try:
            made = step(properties)
        except ConfigError as error:
            texts += [str(error), repr(error), *traceback.format_exception(error)]
        else:
            texts += [str(made), repr(made), f"{made}"]
            if isinstance(made, Login):
                texts += [made.model_dump_json(), json.dumps(made.model_dump(mode="json")), str(made.model_dump())]
    return texts


_GOOD = st.sampled_from([{}, *(written for _, written in SPELLINGS.values())])
_MORE = st.lists(st.sampled_from(sorted(_ANY)), max_size=5, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: _ANY[name] for name in names})
)


@given(good=_GOOD, more=_MORE)
def test_no_secret_of_any_properties_shows(good: dict[str, str], more: dict[str, str]) -> None:
    assert [text for text in shown(good | more) if SECRET in text] == []


@given(login=logins(JAVA_TRUSTS, JAVA_IDENTITIES) | logins(TRUSTS, LIBRDKAFKA_IDENTITIES))
def test_a_logins_dump_is_the_same_whatever_its_secrets_are(login: Login) -> None:
    def covered(part: object) -> object:
        if isinstance(part, SecretStr):
            return SecretStr("another" if part.get_secret_value() else "")
        if isinstance(part, Part):
            return part.model_copy(update={name: covered(getattr(part, name)) for name in type(part).model_fields})
        return part

    other = covered(login)
    assert isinstance(other, Login)
    assert (repr(other), str(other), other.model_dump_json()) == (repr(login), str(login), login.model_dump_json())


@pytest.mark.parametrize("written", [written for _, written in SPELLINGS.values()], ids=SPELLINGS)
def test_no_secret_of_a_good_login_shows(written: dict[str, str]) -> None:
    assert [text for text in shown(written) if SECRET in text] == []
