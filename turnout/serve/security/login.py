"""The login page: by a token, or by way of a provider. It needs no script."""

from dataclasses import asdict
from html import escape
from pathlib import Path
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from turnout.serve.security.gate import LOGIN
from turnout.serve.security.oidc import Attempt, Oidc
from turnout.serve.security.refusal import Refusal
from turnout.serve.security.scope import is_secure
from turnout.serve.security.seal import Seal
from turnout.serve.security.session import Sessions
from turnout.serve.security.tokens import Tokens

PAGE = Path(__file__).parent.parent / "web" / "login.html"
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
LARGEST_FORM_BYTES = 16 * 1024
ATTEMPT_SECONDS = 600
"""For somebody to find their password."""
_ATTEMPT = "oidc login"


def no_login() -> APIRouter:
    """Where nobody is asked who they are, the page is somewhere else."""
    router = APIRouter(include_in_schema=False)

    @router.get(LOGIN)
    def login() -> RedirectResponse:
        return RedirectResponse("/", 303)

    return router


def login_pages(tokens: Tokens, oidc: Oidc | None, seal: Seal, sessions: Sessions) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    attempt_cookie = f"turnout_login_{seal.mark}"

    @router.get(LOGIN)
    def show(next: str = "/") -> Response:
        return _page(next, oidc is not None)

    @router.post(LOGIN)
    async def by_token(request: Request) -> Response:
        form = parse_qs(await _form(request))
        token, goal = form.get("token", [""])[0].strip(), form.get("next", ["/"])[0]
        try:
            principal = tokens.find(token)
        except Refusal as refusal:
            return _page(goal, oidc is not None, refusal.text)
        if principal is None:
            return _page(goal, oidc is not None, "this token is not known here")
        response = RedirectResponse(_own(goal), 303)
        sessions.begin(request.scope, response, principal, token=principal.name)
        return response

    @router.post("/logout")
    async def logout(request: Request) -> Response:
        response = RedirectResponse(LOGIN, 303)
        sessions.end(request.scope, response)
        return response

    if oidc is None:
        return router

    @router.get("/login/oidc")
    async def to_provider(request: Request, next: str = "/") -> Response:
        try:
            url, attempt = await oidc.begin(_callback(request))
        except Refusal as refusal:
            return _page(next, True, refusal.text, refusal.status)
        response = RedirectResponse(url, 303)
        sealed = seal.seal(_ATTEMPT, {**asdict(attempt), "next": next}, seal.now() + ATTEMPT_SECONDS)
        response.set_cookie(
            attempt_cookie,
            sealed,
            max_age=ATTEMPT_SECONDS,
            path=LOGIN,
            secure=is_secure(request.scope),
            httponly=True,
            samesite="lax",  # the way back from the provider comes from another site
        )
        return response

    @router.get("/login/callback")
    async def from_provider(request: Request) -> Response:
        kept = seal.open(_ATTEMPT, request.cookies.get(attempt_cookie, ""))
        if kept is None:
            return _page("/", True, "this login took too long, or began elsewhere: try again")
        attempt = Attempt(kept["state"], kept["nonce"], kept["verifier"])
        try:
            principal = await oidc.finish(_callback(request), request.query_params, attempt)
        except Refusal as refusal:
            return _page(kept["next"], True, refusal.text, refusal.status)
        response = RedirectResponse(_own(kept["next"]), 303)
        response.delete_cookie(attempt_cookie, path=LOGIN)
        sessions.begin(request.scope, response, principal)
        return response

    return router


def _page(goal: str, has_provider: bool, problem: str = "", status: int = 401) -> HTMLResponse:
    goal = _own(goal)
    said = f'<p role="alert">{escape(problem[:1].upper() + problem[1:])}.</p>' if problem else ""
    link = f'<p><a class="main" href="/login/oidc?next={quote(goal, safe="")}">Log in with your account</a></p>'
    text = PAGE.read_text("utf-8")
    text = text.replace("<!-- problem -->", said).replace("<!-- provider -->", link if has_provider else "")
    text = text.replace("<!-- next -->", f'<input type="hidden" name="next" value="{escape(goal)}" />')
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
    return HTMLResponse(text, status if problem else 200, headers)


def _own(goal: str) -> str:
    """A path here, and nothing that a browser takes for an address elsewhere."""
    plain = goal.startswith("/") and not goal.startswith(("//", "/\\")) and goal.isprintable()
    return goal if plain else "/"


def _callback(request: Request) -> str:
    return f"{str(request.base_url).rstrip('/')}/login/callback"


async def _form(request: Request) -> str:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM_BYTES:
            raise Refusal(413, f"a login has at most {LARGEST_FORM_BYTES} bytes")
    return body.decode(errors="replace")
