"""The sections below `serve` that say who may come in."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from turnout.config import Config, load, to_yaml
from turnout.config_access import Role
from turnout.errors import ConfigError

HASH = "sha256:" + "0a" * 32
OIDC = "issuer: https://login.example.com, client_id: turnout, operators: [ops]"


@pytest.fixture(autouse=True)
def _an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(serve: str, **env: str) -> Config:
    Path("turnout.yaml").write_text(f"serve:\n{serve}\n")
    return load(None, env=env)


def test_tokens_with_their_roles_and_ends() -> None:
    auth = read(f"""\
  auth:
    tokens:
      a: {{role: viewer, hash: "{HASH.upper().replace("SHA", "sha")}"}}
      b@example.com: {{role: operator, hash: "{HASH}", expires: 2027-01-31T12:00:00+01:00}}
      c: {{role: viewer, hash: "{HASH}", expires: 2027-01-31}}
""").serve.auth
    assert auth.asks
    assert [token.role for token in auth.tokens.values()] == [Role.VIEWER, Role.OPERATOR, Role.VIEWER]
    assert {token.hash for token in auth.tokens.values()} == {HASH}
    assert [token.expires for token in auth.tokens.values()] == [
        None,
        datetime(2027, 1, 31, 11, tzinfo=UTC),
        datetime(2027, 1, 31, tzinfo=UTC),
    ]


def test_a_secret_by_variable_or_file_is_read_and_never_shown() -> None:
    Path("secret").write_text("hush\n")
    for written, shown in (
        ("${OIDC_SECRET}", "'***'"),
        ("${file:" + str(Path("secret").absolute()) + "}", "${file:" + str(Path("secret").absolute()) + "}"),
        ("file:" + str(Path("secret").absolute()), "file:" + str(Path("secret").absolute())),
    ):
        config = read(f'  auth: {{oidc: {{{OIDC}, client_secret: "{written}"}}}}', OIDC_SECRET="hush")
        assert config.serve.auth.oidc.client_secret.read() == "hush"
        printed = to_yaml(config.masked())
        assert f"client_secret: {shown}\n" in printed
        assert "hush" not in printed + repr(config)
        Path("printed.yaml").write_text(printed)
        load(Path("printed.yaml"), env={})


def test_what_is_printed_is_read_back_to_the_same() -> None:
    config = read(
        f"""\
  origins: [https://a.example.com]
  proxies: [10.0.0.1, "::1"]
  tls: {{certificate: a.pem, key: b.pem}}
  limits: {{max_connections: 5}}
  auth:
    tokens: {{a: {{role: viewer, hash: "{HASH}", expires: 2027-01-31T12:00:00Z}}}}
    oidc: {{{OIDC}, viewers: [a, "b ${{x"]}}""".replace("${", "$${")
    )
    Path("printed.yaml").write_text(to_yaml(config.masked()))
    assert load(Path("printed.yaml"), env={}) == config


def test_variables_reach_every_value() -> None:
    env = {
        "TURNOUT_SERVE__AUTH__TOKENS__A__ROLE": "operator",
        "TURNOUT_SERVE__AUTH__OIDC__VIEWERS": "staff, guests",
        "TURNOUT_SERVE__ORIGINS": "https://a.example.com,http://localhost:3000",
        "TURNOUT_TOKEN": "not ours",
    }
    tokens = f'tokens: {{a: {{role: viewer, hash: "{HASH}"}}}}'
    serve = read(f"  auth: {{oidc: {{{OIDC}}}, {tokens}}}", **env).serve
    assert serve.auth.tokens["a"].role is Role.OPERATOR
    assert serve.auth.oidc.viewers == ("staff", "guests")
    assert serve.origins == ("https://a.example.com", "http://localhost:3000")


@pytest.mark.parametrize(
    ("serve", "line"),
    [
        ("  auth: {tokens: {a: {role: admin}}}", "2: serve.auth.tokens.a.role: 'admin' is not a role; allowed: viewer"),
        ("  auth: {tokens: {a: {role: viewer}}}", "2: serve.auth.tokens.a.hash: missing"),
        ("  auth: {tokens: {a b: {role: viewer, hash: x}}}", "2: serve.auth.tokens.a b: a token's name has letters"),
        (
            f"  auth: {{tokens: {{a: {{role: viewer, hash: '{HASH}', expires: soon}}}}}}",
            "2: serve.auth.tokens.a.expires: 'soon' is not a time such as 2027-01-31T12:00:00Z",
        ),
        ("  auth:\n    open: maybe", "3: serve.auth.open: 'maybe' is neither true nor false"),
        (
            f"  auth:\n    open: true\n    tokens: {{a: {{role: viewer, hash: '{HASH}'}}}}",
            "3: serve.auth.open: lets anyone in, but tokens or oidc ask for a login",
        ),
        ("  auth: {oidc: {client_id: turnout}}", "2: serve.auth.oidc.issuer: missing"),
        ("  auth: {oidc: {issuer: 'https://a.example.com'}}", "2: serve.auth.oidc.client_id: missing"),
        ("  auth: {oidc: {issuer: 'https://a.example.com', client_id: a}}", "2: serve.auth.oidc.viewers: missing"),
        ("  auth: {oidc: {issuer: 'http://a.example.com'}}", "2: serve.auth.oidc.issuer: must begin with https://"),
        ("  auth: {oidc: {issuer: login}}", "2: serve.auth.oidc.issuer: 'login' is not an address such as"),
        (f"  auth: {{oidc: {{{OIDC}, scopes: [email]}}}}", "2: serve.auth.oidc.scopes: must have openid among them"),
        (
            f"  auth: {{oidc: {{{OIDC}, client_secret: 'file:/no/such'}}}}",
            "2: serve.auth.oidc.client_secret: the file /no/such cannot be read: No such file or directory",
        ),
        ("  auth: {session_key: short}", "2: serve.auth.session_key: has fewer than 32 characters"),
        ("  auth: {session_key: 'file:/no/such'}", "2: serve.auth.session_key: the file /no/such cannot be read"),
        ("  tls: {certificate: a.pem}", "2: serve.tls.key: missing; TLS needs both"),
        ("  tls: {key: a.pem}", "2: serve.tls.certificate: missing; TLS needs both"),
        ("  origins: ['*']", "2: serve.origins: '*' is not an origin such as https://dashboard.example.com"),
        ("  origins: [https://a.example.com/x]", "2: serve.origins: 'https://a.example.com/x' is not an origin"),
        ("  proxies: [proxy.example.com]", "2: serve.proxies: 'proxy.example.com' is not an IP address"),
        ("  limits: {max_connections: 0}", "2: serve.limits.max_connections: '0' is too small; at least 1"),
        (
            "  limits: {max_conections: 1}",
            "2: serve.limits.max_conections: unknown key; did you mean 'max_connections'",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place(serve: str, line: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(serve)
    assert any(found.startswith(f"turnout.yaml:{line}") for found in str(raised.value).splitlines()), raised.value


def test_a_token_that_stands_where_its_hash_belongs_is_not_quoted() -> None:
    with pytest.raises(ConfigError) as raised:
        read("  auth: {tokens: {a: {role: viewer, hash: very-secret-token}}}")
    assert "very-secret" not in str(raised.value)
    assert "serve.auth.tokens.a.hash: expected sha256:" in str(raised.value)
