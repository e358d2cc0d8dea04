"""The part of scripts/openid-test that starts the providers, and logs users in by them.

For each provider, the checks of CHECKS run one after the other. The `Case` has what later checks need of earlier ones,
such as the user. A check of what a provider does not offer, such as logouts, returns NOT_OFFERED.

The application has each provider under three names. The plain name, such as `django`, has no options. `django-full`,
for another client, reads userinfo, keeps refresh tokens, and accepts access tokens. `django-wrong` has a wrong secret.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import os
import pathlib
import secrets
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PASSWORD = "four words of a song"
CLAIMS = {"name": "Ann Müller", "given_name": "Ann", "family_name": "Müller", "email": "ann@example.com",
          "email_verified": True}
# The claims of each user's ID tokens, and the further claims of userinfo.
PEOPLE = {
    "ann": {"claims": CLAIMS, "userinfo": {"phone_number": "+1 555 0100"}},
    "bob": {"claims": {**CLAIMS, "name": "Bob Lee", "email": "bob@example.com"}, "userinfo": {}},
}
# The mapping, and the properties that it writes. A provider's address is unverified (docs/decisions.md, D6).
MAPPING = {"email": "email", "name": "name", "given_name": "givenName", "{given_name} {family_name}": "fullName",
           "phone_number": "phoneNumber"}
USER = {"email": "ann@example.com", "name": "Ann Müller", "givenName": "Ann", "fullName": "Ann Müller"}
SCOPES = "openid email profile"
NOT_OFFERED = "not offered"

opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


without_redirects = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects)


def require(condition, what, *seen):
    if not condition:
        raise SystemExit(f"openid-test: {what}: {seen}")


def until(what, condition, seconds=30):
    """Waits until the condition holds, and returns what it returns."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        require(time.monotonic() < end, f"this did not happen within {seconds} s", what)
        time.sleep(0.05)
    return result


def ask(url, body=None, method=None, **headers):
    """Sends a request and returns the status and the text of the response. A body that is a text is a form, other
    bodies are JSON."""
    data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
    kind = "application/x-www-form-urlencoded" if isinstance(body, str) else "application/json"
    request = urllib.request.Request(url, data, {"Content-Type": kind, **headers}, method=method)
    try:
        with opener.open(request, timeout=30) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def base64url(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def challenge(verifier):
    return base64url(hashlib.sha256(verifier.encode()).digest())


def query_of(url):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


class Provider:
    """A provider of another project: a process, which can be started with other keys, and its pages."""

    # The name in the application, the script, the path of the issuer, and the algorithm.
    name = script = path = algorithm = ""
    # Whether the provider publishes a key with which it no longer signs.
    publishes_old_keys = False
    # Whether the provider sends logout tokens.
    ends_sessions = False
    # The secret of the clients.
    secret = "secret-of-web"
    # The scopes of the full client's dialogs. The provider then issues a refresh token.
    full_scopes = SCOPES
    # The addresses of endpoints that the discovery document lacks.
    further_endpoints = {}
    # Cancels the dialog in a browser; None if the provider has no consent page.
    cancel = None

    def __init__(self, port, arguments):
        self.port = port
        self.python = arguments.python
        self.folder = pathlib.Path(arguments.folder) / self.name
        self.folder.mkdir()
        self.issuer = f"http://127.0.0.1:{port}{self.path}"
        self.service = arguments.service
        self.client_page = f"http://localhost:{arguments.page_port}/client"
        self.clients = [self.client("web", self.name), self.client("full", f"{self.name}-full"), self.client("other")]
        self.process = None

    def client(self, client_id, name=None):
        """Returns a client: the service's for the provider with that name, or one that the service does not know."""
        ours = [f"{self.service}/users/oauth/{name}/authorize"] if name else []
        return {"id": client_id, "secret": self.secret, "redirectUris": [*ours, self.client_page]}

    def start(self, *keys):
        """Starts the process. It signs with the first of the keys; the others are its former keys."""
        settings = self.folder / "settings.json"
        settings.write_text(json.dumps({
            "port": self.port, "folder": str(self.folder), "keys": keys, "secret": secrets.token_hex(32),
            "users": PEOPLE, "password": PASSWORD, "clients": self.clients,
        }))
        script = pathlib.Path(__file__).parent / self.script
        with open(self.folder / "log", "a") as log:
            # The provider ends with this process, even if this process is killed.
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "--", self.python, script, settings],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.discovery = until(f"{self.name} answers", self.discover, 60)

    def discover(self):
        require(self.process.poll() is None, f"{self.name} ended", (self.folder / "log").read_text()[-2000:])
        try:
            return json.loads(ask(self.issuer + "/.well-known/openid-configuration")[1])
        except urllib.error.URLError:
            return None

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def settings(self, client="web", variable=None, **options):
        """Returns the settings of the provider in the application's document."""
        return {
            "kind": "oidc", "issuer": self.issuer, "algorithms": [self.algorithm],
            "apps": [{"clientId": client, "clientSecret": {"env": variable or self.variable}}],
            "redirectUris": [self.client_page], "returnUrls": [self.client_page.replace("/client", "/done")], **options,
        }

    def all_settings(self):
        """Returns the settings for each name of the provider."""
        full = {"userinfo": True, "accessTokens": True, "keepTokens": True, "scopes": self.full_scopes.split()}
        return {
            self.name: self.settings(),
            f"{self.name}-full": self.settings("full", **full, **self.pinned()),
            f"{self.name}-wrong": self.settings(variable=f"{self.variable}_WRONG"),
        }

    def pinned(self):
        """Returns the option `pinned` for a provider whose discovery document lacks endpoints."""
        return {}

    @property
    def variable(self):
        return f"{self.name.upper()}_SECRET"

    @property
    def variables(self):
        return {self.variable: self.secret, f"{self.variable}_WRONG": "wrong-secret"}

    def endpoint(self, name):
        return self.further_endpoints.get(name) or self.discovery[name]

    def answer(self, client, endpoint, secret=None, **form):
        """Sends a form to an endpoint as a client (`client_secret_basic`, RFC 6749 section 2.3.1)."""
        pair = f"{client}:{urllib.parse.quote(secret or self.secret, safe='')}"
        basic = base64.b64encode(pair.encode()).decode()
        return ask(self.endpoint(endpoint), urllib.parse.urlencode(form), Authorization=f"Basic {basic}")

    def token(self, client, **form):
        status, text = self.answer(client, "token_endpoint", **form)
        require(status == 200, f"{self.name} refuses its client {client}", status, text)
        return json.loads(text)

    def revoke(self, client, token):
        status, text = self.answer(client, "revocation_endpoint", token=token)
        require(status == 200, f"{self.name} does not revoke a token", status, text)

    def refresh_tokens(self, client):
        """Returns the client's refresh tokens at the provider, the oldest first: the text, and whether it is active."""
        raise NotImplementedError

    def log_in(self, browser, last=None, person="ann"):
        """Logs a user in on the pages of the provider. `last` handles the last button in place of the browser."""
        raise NotImplementedError


class Django(Provider):
    name, script, path, algorithm = "django", "openid-django.py", "/o", "RS256"
    publishes_old_keys = True
    # The header must encode characters that have a meaning in a form.
    secret = "secret+of%20web:/?&=~"

    @property
    def further_endpoints(self):
        return {"introspection_endpoint": f"{self.issuer}/introspect/",
                "revocation_endpoint": f"{self.issuer}/revoke_token/"}

    def pinned(self):
        names = {"authorization_endpoint": "authorize/", "token_endpoint": "token/", "userinfo_endpoint": "userinfo/",
                 "jwks_uri": ".well-known/jwks.json"}
        return {"pinned": {**{name: f"{self.issuer}/{path}" for name, path in names.items()}, **self.further_endpoints}}

    def refresh_tokens(self, client):
        statement = """select token, revoked is null from oauth2_provider_refreshtoken where application_id =
            (select id from oauth2_provider_application where client_id = ?) order by id"""
        with contextlib.closing(sqlite3.connect(self.folder / "database")) as connection:
            return [(token, bool(counts)) for token, counts in connection.execute(statement, [client])]

    def log_in(self, browser, last=None, person="ann", answer="input[name=allow]"):
        browser.fill("input[name=username]", person)
        browser.fill("input[name=password]", PASSWORD)
        browser.press("input[type=submit]")
        return (last or browser.press)(f"#authorizationForm {answer}")

    def cancel(self, browser):
        self.log_in(browser, answer="input[type=submit]:not([name])")


class Idpy(Provider):
    """Has no consent page."""

    name, script, path, algorithm = "idpy", "openid-idpy.py", "", "ES256"
    ends_sessions = True
    full_scopes = f"{SCOPES} offline_access"

    def client(self, client_id, name=None):
        # A renewed refresh token replaces the old one.
        metadata = {"revoke_refresh_on_issue": True, "logout_names_user": client_id == "full"}
        if name:
            metadata["backchannel_logout_uri"] = f"{self.service}/users/oauth/{name}/webhook"
        return {**super().client(client_id, name), "metadata": metadata}

    def refresh_tokens(self, client):
        tokens = json.loads(ask(f"{self.issuer}/refresh-tokens")[1])
        return [(token, counts) for owner, token, counts in tokens if owner == client]

    def log_out(self, browser):
        """Ends the session of the browser, and returns the status of the service's response to the logout token."""
        browser.driver.get(self.discovery["end_session_endpoint"])
        browser.press("input[type=submit]")
        return int(browser.find("#answer").text)

    def log_in(self, browser, last=None, person="ann"):
        browser.fill("input[name=username]", person)
        browser.fill("input[name=password]", PASSWORD)
        return (last or browser.press)("input[type=submit]")


class Browser:
    """Headless Chromium, for the pages of providers."""

    def __init__(self, profile):
        options = webdriver.ChromeOptions()
        for option in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                       "--disable-background-networking", f"--user-data-dir={profile}"]:
            options.add_argument(option)
        options.binary_location = shutil.which("chromium")
        # Without this name, selenium would download a driver.
        self.driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))

    def until(self, what, condition):
        """Waits until the condition holds. A failure names the page of the browser."""
        def seen(driver):
            try:
                return condition()
            finally:
                self.place = driver.current_url
        try:
            return WebDriverWait(self.driver, 20, poll_frequency=0.05).until(seen)
        except Exception as error:
            text = self.driver.find_element(By.TAG_NAME, "body").text[:500]
            raise SystemExit(f"openid-test: {what}: {type(error).__name__} at {self.place}: {text}") from error

    def find(self, selector):
        return self.until(selector, lambda: next(iter(self.driver.find_elements(By.CSS_SELECTOR, selector)), None))

    def fill(self, selector, text):
        self.find(selector).send_keys(text)

    def press(self, selector):
        self.find(selector).click()

    def go(self, url):
        """Opens an address without cookies."""
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.driver.get(url)

    def arrive(self, start):
        """Waits until the browser is at an address with this start, and returns the parameters of the address."""
        self.until(f"the browser arrives at {start}", lambda: self.driver.current_url.startswith(start))
        return query_of(self.driver.current_url)

    def press_aside(self, selector):
        """Sends the form of a button without the browser, and returns the address in the response's `Location`."""
        action, fields = self.driver.execute_script(
            "const button = arguments[0]; return [button.form.action, [...new FormData(button.form, button)]];",
            self.find(selector))
        cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in self.driver.get_cookies())
        request = urllib.request.Request(action, urllib.parse.urlencode(dict(fields)).encode(), {"Cookie": cookies})
        try:
            reply = without_redirects.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            reply = error
        with reply:
            require("Location" in reply.headers, "the form leads nowhere", reply.status, reply.read()[:500])
            return reply.headers["Location"]


class Page(BaseHTTPRequestHandler):
    """The app's pages: the return URL of the service's dialogs, and the redirect URI of the client's own dialogs."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>App</title><p>This is the app.</p>")

    def log_message(self, *_):
        pass


class Administration:
    """The commands of the service, and its administration API as an operator may use it."""

    def __init__(self, arguments):
        self.federation = arguments.federation
        self.address = arguments.management
        status, text = self.run("set", "operators/openid-test", "role=owner", "--json")
        require(status == 0, "there is no operator", status, text)
        self.operator = json.loads(text)["token"]

    def run(self, *words):
        """The exit status of a command, and what it prints."""
        done = subprocess.run([self.federation, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def ask(self, method, path):
        """The status and the text of a reply about the application."""
        url = f"{self.address}/admin/v1/applications/demo/{path}"
        return ask(url, method=method, Authorization=f"Bearer {self.operator}", **{"If-Match": "*"})


class Case:
    """One name of a provider in the application, with a browser and the user that an earlier check has created."""

    def __init__(self, provider, administration, browser, name=None, client="web"):
        self.provider = provider
        self.service = provider.service
        self.administration = administration
        self.browser = browser
        self.name = name or provider.name
        self.client = client
        self.scopes = provider.full_scopes if client == "full" else SCOPES
        self.done = provider.settings()["returnUrls"][0]
        self.user = None
        # The same provider with all options.
        self.full = self if name else Case(provider, administration, browser, f"{provider.name}-full", "full")

    def post(self, path, body):
        return ask(f"{self.service}/users/{path}", body)

    def log_in(self, what, **credential):
        """Logs in, which must succeed, and returns the user object."""
        status, text = self.post(f"social/{self.name}/sdk/login", credential)
        require(status == 200, f"{what} is refused", status, text)
        return json.loads(text)

    def log_in_as_before(self, what, **credential):
        user = self.log_in(what, **credential)
        require(user["objectId"] == self.user["objectId"], f"{what} makes another user", user, self.user)
        return user

    def refused(self, what, reason, **credential):
        """Tries to log in, which must fail with the reason."""
        self.is_problem(what, self.post(f"social/{self.name}/sdk/login", credential), reason)

    def is_problem(self, what, reply, reason):
        status, text = reply
        given = json.loads(text).get("errorData", {}).get("reason") if status >= 400 else None
        require(given == reason, f"{what} is not {reason}", status, text)

    def address(self, verifier):
        """Returns the address of a new dialog of the service."""
        body = {"codeChallenge": challenge(verifier), "codeChallengeMethod": "S256"}
        status, text = self.post(f"oauth/{self.name}/request_url", body)
        require(status == 200, "no dialog begins", status, text)
        require(text.startswith(self.provider.discovery["authorization_endpoint"] + "?"), "another dialog", text)
        return text

    def log_in_by_dialog(self, person="ann"):
        """Logs a user in through the server, and returns the user object."""
        verifier = secrets.token_urlsafe(32)
        self.browser.go(self.address(verifier))
        self.provider.log_in(self.browser, person=person)
        answer = self.browser.arrive(self.done + "?")
        require(set(answer) == {"loginCode"}, "the browser returns with something else", answer)
        exchange = {"loginCode": answer["loginCode"], "codeVerifier": verifier}
        status, text = self.post(f"oauth/{self.name}/login", exchange)
        require(status == 200, "the login code is refused", status, text)
        return json.loads(text)

    def has_session(self, user):
        status, text = ask(f"{self.service}/users/isvalidusertoken/{user['user-token']}")
        require(status == 200 and text in ("true", "false"), "nobody knows whether there is a session", status, text)
        return text == "true"

    def own_code(self, client=None, **parameters):
        """Opens a dialog as the client, or as another one, without the service. Returns the code and its verifier."""
        verifier, state = secrets.token_urlsafe(32), secrets.token_urlsafe(16)
        question = {
            "response_type": "code", "client_id": client or self.client, "redirect_uri": self.provider.client_page,
            "scope": self.scopes, "state": state, "code_challenge": challenge(verifier),
            "code_challenge_method": "S256", **parameters,
        }
        if "offline_access" in question["scope"]:
            question["prompt"] = "consent"
        self.browser.go(self.provider.discovery["authorization_endpoint"] + "?" + urllib.parse.urlencode(question))
        self.provider.log_in(self.browser)
        answer = self.browser.arrive(self.provider.client_page + "?")
        require(answer.get("state") == state and "code" in answer, "the client's own dialog fails", answer)
        return answer["code"], verifier

    def own_tokens(self, client=None, **parameters):
        """Exchanges such a code at the provider, and returns the token response."""
        code, verifier = self.own_code(client, **parameters)
        return self.provider.token(client or self.client, grant_type="authorization_code", code=code,
                                   redirect_uri=self.provider.client_page, code_verifier=verifier)


def row_of(user):
    """The user's row of the users table, with the identities."""
    statement = """select json_build_object('user', to_json(u), 'identities', (
        select json_agg(json_build_object('provider', provider, 'app', provider_app, 'subject', subject,
            'kind', token_kind, 'expires', token_expires, 'token', encode(token, 'hex')))
        from demo.identities i where i.object_id = u.object_id)) from demo.users u where object_id = :'id'"""
    command = ["psql", "--no-psqlrc", "-qAt", "--set", f"id={user['objectId']}", os.environ["FEDERATION_DATABASE_URL"]]
    return json.loads(subprocess.run(command, input=statement, capture_output=True, text=True, check=True).stdout)


def claims_of(token):
    """The claims of a token, unverified."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def changed(token, part):
    """The token with another character in the middle of a part."""
    parts = token.split(".")
    middle = len(parts[part]) // 2
    other = "A" if parts[part][middle] != "A" else "B"
    parts[part] = parts[part][:middle] + other + parts[part][middle + 1:]
    return ".".join(parts)


def absent(case):
    """The provider starts after the service, which must notice it without a restart."""
    path = f"oauth/{case.name}/request_url"
    body = {"codeChallenge": challenge("x" * 43), "codeChallengeMethod": "S256"}
    until("the service knows the application", lambda: case.post(path, body)[0] != 401)
    case.is_problem("a dialog without the provider", case.post(path, body), "provider_unavailable")
    case.provider.start("first")
    until("the service knows the provider", lambda: case.post(path, body)[0] == 200)


def dialog(case):
    case.user = user = case.log_in_by_dialog()
    require({name: user.get(name) for name in USER} == USER, "the user object has other values", user)
    require(case.has_session(user), "there is no session", user)


def row(case):
    found = row_of(case.user)
    require({name: found["user"].get(name) for name in USER} == USER, "the row has other values", found)
    require(found["user"]["email_verified"] is False, "the provider's address counts as verified", found)
    identity, = found["identities"]
    require((identity["provider"], identity["app"]) == (case.name, "global"), "another identity", found)
    require(identity["token"] is None and found["user"]["phoneNumber"] is None, "the row has more than asked", found)
    case.subject = identity["subject"]


def cancelled(case):
    """Ann cancels the dialog. The browser must return with the reason."""
    if not case.provider.cancel:
        return NOT_OFFERED
    case.browser.go(case.address(secrets.token_urlsafe(32)))
    case.provider.cancel(case.browser)
    answer = case.browser.arrive(case.done + "?")
    require(answer == {"error": "8117", "reason": "login_cancelled"}, "a cancelled login ends in another way", answer)


def redirect(case):
    """Returns the redirect by which the provider ends a dialog of the service, unopened: the address and the query."""
    case.browser.go(case.address(secrets.token_urlsafe(32)))
    url = case.provider.log_in(case.browser, case.browser.press_aside)
    ours = f"{case.service}/users/oauth/{case.name}/authorize"
    parameters = query_of(url)
    require(url.startswith(ours + "?") and "code" in parameters, "the provider gives no code", url)
    return ours, parameters


def other_issuer(case):
    """The redirect names another issuer, or none although the provider promises to name itself (RFC 9207)."""
    promised = case.provider.discovery.get("authorization_response_iss_parameter_supported", False)
    for issuer, is_refused in [(case.provider.issuer + "/other", True), (None, promised)]:
        url, parameters = redirect(case)
        require(parameters.pop("iss") == case.provider.issuer, "the provider does not name itself", parameters)
        if issuer:
            parameters["iss"] = issuer
        case.browser.go(f"{url}?{urllib.parse.urlencode(parameters)}")
        answer = case.browser.arrive(case.done + "?")
        is_error = answer == {"error": "8118", "reason": "login_state_invalid"}
        require(is_error if is_refused else set(answer) == {"loginCode"}, f"{issuer} as issuer ends otherwise", answer)


def id_token(case):
    nonce = secrets.token_urlsafe(16)
    token = case.own_tokens(nonce=nonce)["id_token"]
    claims = claims_of(token)
    require(claims["nonce"] == nonce and claims["sub"] == case.subject, "the provider issues another token", claims)
    case.refused("another nonce", "credential_invalid", idToken=token, nonce=nonce + "x")
    case.refused("a token with other claims", "credential_invalid", idToken=changed(token, 1), nonce=nonce)
    case.refused("a token with another signature", "credential_invalid", idToken=changed(token, 2), nonce=nonce)
    case.log_in_as_before("an ID token", idToken=token, nonce=nonce)
    case.refused("a used ID token", "credential_replayed", idToken=token, nonce=nonce)


def other_client(case):
    token = case.own_tokens("other")["id_token"]
    case.refused("a token for another client", "credential_invalid", idToken=token)


def client_code(case):
    """The client sends the code of a dialog of its own, which had a nonce."""
    nonce = secrets.token_urlsafe(16)
    code, verifier = case.own_code(nonce=nonce)
    given = {"code": code, "codeVerifier": verifier, "redirectUri": case.provider.client_page, "nonce": nonce}
    case.log_in_as_before("a client's code", **given)
    case.refused("a used code", "credential_invalid", **given)
    code, _ = case.own_code(nonce=nonce)
    case.refused("another verifier", "credential_invalid", **{**given, "code": code})


def userinfo(case):
    """A dialog of the full client: its user has a claim that no ID token has."""
    full = case.full
    full.user = full.log_in_by_dialog()
    require(full.user["objectId"] != case.user["objectId"], "two clients have one user", full.user)
    values = {**USER, "phoneNumber": PEOPLE["ann"]["userinfo"]["phone_number"]}
    require({name: full.user.get(name) for name in values} == values, "the user object has other values", full.user)


def counting(case):
    """Returns the full client's only active refresh token at the provider."""
    tokens = [token for token, counts in case.provider.refresh_tokens("full") if counts]
    require(len(tokens) == 1, "the provider has issued more or fewer refresh tokens", tokens)
    return tokens[0]


def kept_token(case):
    """The service keeps the refresh token of that dialog. A refresh replaces it by a new one."""
    full, first = case.full, counting(case)
    before, = row_of(full.user)["identities"]
    require((before["kind"], before["expires"]) == ("refresh", None), "another token is kept", before)
    status, text = case.administration.ask("POST", f"users/{full.user['objectId']}/refresh")
    require(status == 200, "the token is not renewed", status, text)
    after, = row_of(full.user)["identities"]
    require((after["kind"], after["expires"]) == ("refresh", None), "another token is kept", after)
    require(after["token"] != before["token"], "the row has the old token", after)
    full.kept = counting(case)
    require(full.kept != first, "the provider has not renewed the token", case.provider.refresh_tokens("full"))


def logout(case):
    """A logout at the provider ends the user's session here, and no other session."""
    if not case.provider.ends_sessions:
        return NOT_OFFERED
    bob = case.full.log_in_by_dialog("bob")
    status = case.provider.log_out(case.browser)
    require(status == 200, "the logout token is refused", status)
    require(not case.has_session(bob), "the session outlives the one of the provider", bob)
    for ann in [case.full.user, case.user]:
        require(case.has_session(ann), "the logout ends another session", ann)


def logout_by_session(case):
    """A logout token may name only the session at the provider (`sid`): it ends the session here that this session
    opened (docs/protocols/openid.md §8)."""
    if not case.provider.ends_sessions:
        return NOT_OFFERED
    bob = case.log_in_by_dialog("bob")
    status = case.provider.log_out(case.browser)
    require((status, case.has_session(bob)) == (200, False), "the session outlives the one of the provider", status)
    require(case.has_session(case.user), "the logout ends another session", status)


def deleted_user(case):
    """The deletion of a user revokes the kept token at the provider. Another grant of the user to the client stays."""
    full, user = case.full, case.full.user["objectId"]
    other = full.own_tokens()["refresh_token"]
    status, text = case.administration.ask("DELETE", f"users/{user}?confirm={user}")
    require(status in (200, 204), "the user cannot be deleted", status, text)
    require(not case.has_session(full.user), "the deleted user has a session", full.user)
    status, text = renewal(case, full.kept)
    require(status == 400 and "error" in json.loads(text), "the provider still takes the kept token", status, text)
    status, text = renewal(case, other)
    require(status == 200, "the provider has ended another grant", status, text)


def renewal(case, token):
    """Sends a refresh token to the provider as the full client."""
    return case.provider.answer("full", "token_endpoint", grant_type="refresh_token", refresh_token=token)


def provider_check(case):
    """`federation provider check` accepts a right secret, refuses a wrong one, and shows the provider's own words."""
    for name in [case.name, case.full.name]:
        status, text = case.administration.run("provider", "check", "demo", "--provider", name)
        require(status == 0, f"the check of {name} fails", status, text)
    status, text = case.administration.run("provider", "check", "demo", "--provider", f"{case.name}-wrong")
    form = {"grant_type": "authorization_code", "code": "x"}
    words = json.loads(case.provider.answer("web", "token_endpoint", "wrong-secret", **form)[1])
    require(status == 65 and words["error"] == "invalid_client", "a wrong secret passes", status, text, words)
    said = [words["error"], words.get("error_description", "")]
    require(all(word in text for word in said), "the check lacks the words of the provider", text, words)


def renewed_keys(case):
    """The provider signs with another key, and the service is not restarted."""
    old = case.own_tokens()["id_token"]
    case.provider.stop()
    case.provider.start("second", "first")
    case.log_in_as_before("a token under the new key", idToken=case.own_tokens()["id_token"])
    if case.provider.publishes_old_keys:
        case.log_in_as_before("a token under the old key, which is published", idToken=old)
    else:
        case.refused("a token under the old key, which is gone", "credential_invalid", idToken=old)


def access_token(case):
    """The issuer says for which client it issued an access token, and whether the token is active. An access token of
    idpyoidc is a JWT, and still no ID token: it can be used again, until it is revoked."""
    full = case.full
    tokens = full.own_tokens()
    token = tokens["access_token"]
    full.user = full.log_in("an ID token", idToken=tokens["id_token"])
    full.log_in_as_before("an access token", accessToken=token)
    full.log_in_as_before("an access token that comes again", accessToken=token)
    other = full.own_tokens("other", scope=SCOPES)["access_token"]
    full.refused("an access token for another client", "credential_invalid", accessToken=other)
    case.provider.revoke("full", token)
    full.refused("a revoked access token", "credential_expired", accessToken=token)
    if "introspection_endpoint" not in case.provider.discovery:
        case.refused("an access token without introspection", "credential_wrong_kind", accessToken=token)


def no_id_token(case):
    """An access token or a refresh token is no ID token, whatever its form (RFC 8725 section 3.12). Those of idpyoidc
    are signed like its ID tokens, for the same audience."""
    tokens = case.full.own_tokens()
    case.full.refused("an access token as ID token", "credential_invalid", idToken=tokens["access_token"])
    case.full.refused("a refresh token as ID token", "credential_invalid", idToken=tokens["refresh_token"])


def stopped(case):
    """The provider stops while a dialog is open, and while a client has a token."""
    token = case.own_tokens()["id_token"]
    url, parameters = redirect(case)
    case.provider.stop()
    case.log_in_as_before("an ID token without the provider", idToken=token)
    case.browser.go(f"{url}?{urllib.parse.urlencode(parameters)}")
    answer = case.browser.arrive(case.done + "?")
    require(answer == {"error": "8141", "reason": "provider_unavailable"}, "the dialog ends in another way", answer)


CHECKS = [
    ("the provider comes after the service", absent),
    ("a dialog with PKCE, in a browser", dialog),
    ("the row and the identity", row),
    ("a cancelled dialog", cancelled),
    ("a redirect of another issuer, and of none", other_issuer),
    ("an ID token with a nonce; replayed, changed", id_token),
    ("an ID token for another client", other_client),
    ("a code of the client's own dialog; used, with another verifier", client_code),
    ("a dialog that reads userinfo", userinfo),
    ("a kept refresh token; renewed", kept_token),
    ("a logout at the provider", logout),
    ("a logout at the provider that names only the session", logout_by_session),
    ("a deleted user's refresh token", deleted_user),
    ("the check of a right and a wrong secret", provider_check),
    ("other keys", renewed_keys),
    ("an access token; of another client, revoked", access_token),
    ("an access token and a refresh token in place of an ID token", no_id_token),
    ("the provider stopped: a known key, an open dialog", stopped),
]


def apply_application(providers, arguments):
    """Makes the application `demo`, with all providers."""
    text = {"type": "STRING"}
    settings = {name: value for provider in providers for name, value in provider.all_settings().items()}
    document = {
        "application": "demo", "name": "Demo", "keys": [{"label": "demo", "key": {"env": "DEMO_API_KEY"}}],
        "properties": {"givenName": text, "fullName": text, "phoneNumber": text},
        "providers": settings,
        "mapping": {name: [{"from": claim, "to": target} for claim, target in MAPPING.items()] for name in settings},
    }
    path = pathlib.Path(arguments.folder) / "application.json"
    path.write_text(json.dumps(document))
    variables = {name: value for provider in providers for name, value in provider.variables.items()}
    subprocess.run([arguments.federation, "apply", path], env={**os.environ, **variables}, check=True,
                   stdout=subprocess.DEVNULL)


def check(case):
    print(f"{case.provider.name}, {case.provider.algorithm}:", flush=True)
    for what, step in CHECKS:
        began = time.monotonic()
        outcome = step(case) or f"{time.monotonic() - began:.1f} s"
        print(f"  {what}: {outcome}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ["--service", "--management", "--federation", "--python", "--folder"]:
        parser.add_argument(name, required=True)
    for name in ["--page-port", "--django-port", "--idpy-port"]:
        parser.add_argument(name, required=True, type=int)
    arguments = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", arguments.page_port), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    providers = [Django(arguments.django_port, arguments), Idpy(arguments.idpy_port, arguments)]
    apply_application(providers, arguments)
    administration = Administration(arguments)
    browser = Browser(f"{arguments.folder}/profile")
    try:
        cases = [Case(provider, administration, browser) for provider in providers]
        for case in cases:
            check(case)
        # Both identities have the same e-mail address, which must not link them.
        users = {case.user["objectId"] for case in cases}
        require(len(users) == len(cases), "identities of two providers are one user", users)
    finally:
        browser.driver.quit()
        for provider in providers:
            provider.stop()


main()
