"""Logins of all kinds, made up at random."""

from hypothesis import strategies as st
from pydantic import SecretStr

from turnout.kafka.login.model import (
    Identity,
    KerberosLogin,
    KeyStore,
    Login,
    OAuthLogin,
    PasswordLogin,
    PasswordMechanism,
    PemFile,
    PemIdentity,
    PemKey,
    PemText,
    Protocol,
    Sasl,
    Tls,
    Trust,
    TrustStore,
)

# The hard characters often, and any other: quotes, escapes, what ends an option, an entry or a line.
HARD = st.text(st.sampled_from("\"'\\;=${}\n\r\t 0n€") | st.characters(exclude_categories=["Cs"]))
FILLED = HARD.filter(bool)
SECRETS = HARD.map(SecretStr)
PEM_FILES = st.from_regex(r"/no/[a-z]{1,8}\.pem", fullmatch=True).map(lambda location: PemFile(location=location))
PEM_TEXTS = FILLED.map(lambda text: PemText(text=text))
PEM_KEYS = HARD.map(lambda text: PemKey(text=SecretStr(f"-----BEGIN PRIVATE KEY-----{text}")))
EXTENSIONS = st.dictionaries(
    st.sampled_from(["logicalCluster", "identityPoolId", "x"]),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters=",\\"), min_size=1),
)

# What both clients are told in full.
TRUSTS: st.SearchStrategy[Trust | None] = st.none() | PEM_FILES | PEM_TEXTS
_TEXTS = st.builds(PemIdentity, chain=PEM_TEXTS, key=PEM_KEYS, key_password=st.none() | SECRETS)
_ONE_FILE = st.builds(
    lambda file, password: PemIdentity(chain=file, key=file, key_password=password), PEM_FILES, st.none() | SECRETS
)
_PKCS12 = st.builds(
    KeyStore, location=st.just("/no/client.p12"), password=st.none() | SECRETS, key_password=st.none() | SECRETS
)
IDENTITIES: st.SearchStrategy[Identity | None] = st.none() | _TEXTS | _ONE_FILE | _PKCS12

# What only one of them is told as it is: the other is given its content.
JAVA_TRUSTS: st.SearchStrategy[Trust | None] = st.builds(
    TrustStore,
    location=st.just("/no/trust.jks"),
    password=st.none() | SECRETS,
    type=st.sampled_from([None, "JKS", "PKCS12"]),
)
JAVA_IDENTITIES: st.SearchStrategy[Identity | None] = st.builds(
    KeyStore,
    location=st.just("/no/client.jks"),
    password=st.none() | SECRETS,
    key_password=st.none() | SECRETS,
    type=st.sampled_from([None, "JKS", "PKCS12"]),
)
LIBRDKAFKA_IDENTITIES: st.SearchStrategy[Identity | None] = st.builds(
    PemIdentity, chain=PEM_FILES | PEM_TEXTS, key=PEM_FILES | PEM_KEYS, key_password=st.none() | SECRETS
)


def tls(
    trusts: st.SearchStrategy[Trust | None] = TRUSTS, identities: st.SearchStrategy[Identity | None] = IDENTITIES
) -> st.SearchStrategy[Tls]:
    return st.builds(Tls, trust=trusts, identity=identities, checks_host=st.booleans())


def sasl(trusts: st.SearchStrategy[Trust | None] = TRUSTS) -> st.SearchStrategy[Sasl]:
    passwords = st.builds(PasswordLogin, mechanism=st.sampled_from(PasswordMechanism), user=HARD, password=SECRETS)
    # An https endpoint has something to trust: else librdkafka is told what this machine's system trusts.
    https = _tokens("https://login.example.com/token", trusts.filter(lambda trust: trust is not None))
    return passwords | https | _tokens("http://localhost:8080/a?b=c", trusts) | st.just(KerberosLogin())


def _tokens(endpoint: str, trusts: st.SearchStrategy[Trust | None]) -> st.SearchStrategy[OAuthLogin]:
    return st.builds(
        OAuthLogin,
        endpoint=st.just(endpoint),
        client_id=HARD,
        client_secret=SECRETS,
        scope=st.none() | FILLED,
        extensions=EXTENSIONS,
        trust=trusts,
    )


@st.composite
def logins(
    draw: st.DrawFn,
    trusts: st.SearchStrategy[Trust | None] = TRUSTS,
    identities: st.SearchStrategy[Identity | None] = IDENTITIES,
) -> Login:
    protocol = draw(st.sampled_from(Protocol))
    return Login(
        protocol=protocol,
        tls=draw(tls(trusts, identities)) if protocol.has_tls else None,
        sasl=draw(sasl(trusts)) if protocol.has_sasl else None,
    )
