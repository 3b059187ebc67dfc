"""What a token endpoint's refusal means (RFC 6749, 5.2), and what to do about it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from turnout.kafka.diagnosis.obstacle import Obstacle, quoted
from turnout.kafka.login.model import OAuthLogin
from turnout.kafka.login.parse_oauth import CLIENT_ID, CLIENT_SECRET, ENDPOINT, SCOPE


def says_nothing() -> str:
    return f"{ENDPOINT} must be the provider's token_endpoint, as its /.well-known/openid-configuration names it"


def refusal(login: OAuthLogin, status: int, answer: Mapping[str, Any], location: str | None) -> Obstacle:
    secret = login.client_secret.get_secret_value()
    error = quoted(str(answer.get("error", "")), [secret])
    description = quoted(str(answer.get("error_description", "")), [secret])
    said = f" ({error}{': ' if error and description else ''}{description})" if error or description else ""
    match error:
        case "invalid_client":
            return _wrong_client(login, said)
        case "invalid_scope":
            asked = f"the scope {login.scope}" if login.scope else "a token without a scope"
            return Obstacle(
                f"the token endpoint does not give the client {login.client_id} {asked}{said}",
                f"correct {SCOPE} (scope in sasl.jaas.config), or have the provider allow it to this client; with "
                "Microsoft Entra ID it looks like api://<application id>/.default",
            )
        case "unauthorized_client" | "unsupported_grant_type":
            return Obstacle(
                f"the token endpoint does not let the client {login.client_id} log in by its secret{said}",
                "have the provider allow the grant type client_credentials to it (a service account, a confidential "
                "client)",
            )
    return _by_status(login, status, said, location)


def _wrong_client(login: OAuthLogin, said: str) -> Obstacle:
    return Obstacle(
        f"the token endpoint does not take the id {login.client_id} with the secret that is given{said}",
        f"correct {CLIENT_ID[0]} and {CLIENT_SECRET[0]} (clientId and clientSecret in sasl.jaas.config); the provider "
        "may have let the secret expire",
    )


def _by_status(login: OAuthLogin, status: int, said: str, location: str | None) -> Obstacle:
    match status:
        case 401 | 403:
            return _wrong_client(login, said or f" (HTTP {status})")
        case 404 | 405:
            return Obstacle(f"there is no token endpoint at {login.endpoint} (HTTP {status})", says_nothing())
        case _ if 300 <= status < 400:
            target = urlsplit(location or "")
            to = f" to {target.scheme}://{target.hostname}{target.path}" if target.hostname else ""
            return Obstacle(f"{login.endpoint} redirects{to} (HTTP {status}), which is not followed", says_nothing())
        case _ if status >= 500:
            return Obstacle(
                f"the token endpoint has trouble of its own (HTTP {status}){said}", "try again later, or ask its owner"
            )
        case _:
            return Obstacle(f"the token endpoint refuses the request (HTTP {status}){said}", says_nothing())
