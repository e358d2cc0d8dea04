"""The part of scripts/library-test that runs the libraries: each does, with its own calls, what it does for a login at Facebook."""

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import re
import select
import socket
import ssl
import sys
import threading
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

APP, SECRET = "1234567890", "8d1f0c5a7b3e4f629a0d5c8e7b16f243"
ANN, NAME, EMAIL = "10223456789012345", "Ann Müller", "ann@example.com"
REDIRECT = "https://app.example/callback?from=login"
HOSTS = {f"{name}.facebook.com:443" for name in ("graph", "www", "limited")}


class Proxy(BaseHTTPRequestHandler):
    """Answers CONNECT for Facebook's hosts, ends the TLS that follows, and passes on what is inside it. Nothing else gets out."""

    graph: tuple[str, int]
    certificate: ssl.SSLContext

    def do_CONNECT(self):
        if self.path not in HOSTS:
            self.send_error(403)
            return
        self.send_response(200)
        self.end_headers()
        with (
            self.certificate.wrap_socket(self.connection, server_side=True) as client,
            socket.create_connection(self.graph) as simulator,
        ):
            while True:
                ready = [client] if client.pending() else select.select([client, simulator], [], [])[0]
                for source, target in ((client, simulator), (simulator, client)):
                    if source in ready:
                        data = source.recv(65536)
                        if not data:
                            self.close_connection = True
                            return
                        target.sendall(data)

    def log_message(self, *arguments):
        pass


def control(path, value):
    """What the simulator's control port answers."""
    request = urllib.request.Request(f"http://127.0.0.1:{options.control_port}/{path}", json.dumps(value).encode())
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as reply:
        return json.load(reply)


def log_in(url, person="ann"):
    """What a browser does with the address of the dialog when everything is allowed: the parameters that it ends with."""
    import requests

    dialog, query = url.split("?", 1)
    answer = {"person": person, "action": "continue", "granted": "email"}
    reply = requests.post(dialog, data={**dict(parse_qsl(query)), **answer}, allow_redirects=False)
    assert reply.status_code == 302, reply.text
    return dict(parse_qsl(urlsplit(reply.headers["location"]).query))


def proof(token):
    return hmac.new(SECRET.encode(), token.encode(), hashlib.sha256).hexdigest()


class FacebookSDK(unittest.TestCase):
    def test_login(self):
        import facebook

        graph = facebook.GraphAPI(version="3.1")
        callback = log_in(graph.get_auth_url(APP, REDIRECT, perms=["email", "public_profile"], state="s"))
        self.assertEqual(callback["state"], "s")
        given = graph.get_access_token_from_code(callback["code"], REDIRECT, APP, SECRET)
        self.assertGreater(given["expires_in"], 86400)
        graph.access_token = given["access_token"]
        graph.access_token = graph.extend_access_token(APP, SECRET)["access_token"]
        self.assertNotEqual(graph.access_token, given["access_token"])

        debugged = graph.debug_access_token(graph.access_token, APP, SECRET)["data"]
        self.assertEqual((debugged["is_valid"], debugged["app_id"], debugged["user_id"]), (True, APP, ANN))
        self.assertTrue(graph.get_app_access_token(APP, SECRET).startswith(APP + "|"))
        me = graph.get_object("me", fields="name,email", appsecret_proof=proof(graph.access_token))
        self.assertEqual(me, {"id": ANN, "name": NAME, "email": EMAIL})
        both = graph.get_objects([ANN, APP], fields="name")
        self.assertEqual({key: node["name"] for key, node in both.items()}, {ANN: NAME, APP: "Demo"})
        self.assertIn("email", graph.get_permissions("me"))

        operations = [{"method": "GET", "relative_url": "me?fields=id"}, {"method": "GET", "relative_url": "nowhere"}]
        first, second = graph.request("v25.0/", post_args={"batch": json.dumps(operations)})
        self.assertEqual(json.loads(first["body"]), {"id": ANN})
        self.assertEqual(second["code"], 400)

        with self.assertRaises(facebook.GraphAPIError) as refused:
            facebook.GraphAPI("EAAnothing").get_object("me")
        self.assertEqual(refused.exception.code, 190)

    def test_removed_field(self):
        import facebook

        graph = facebook.GraphAPI(control("tokens", {"person": "ann"})["token"])
        with self.assertRaises(facebook.GraphAPIError) as refused:
            graph.get_object("me", fields="id,username")
        self.assertEqual(refused.exception.code, 12)


class HTTPXOAuth(unittest.TestCase):
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    def test_login(self):
        asyncio.run(self.login())

    async def login(self):
        from httpx_oauth.clients.facebook import FacebookOAuth2
        from httpx_oauth.oauth2 import GetAccessTokenError

        client = FacebookOAuth2(APP, SECRET)
        url = await client.get_authorization_url(
            REDIRECT, state="s", code_challenge=self.challenge, code_challenge_method="S256"
        )
        code = (await asyncio.to_thread(log_in, url))["code"]
        with self.assertRaises(GetAccessTokenError):
            await client.get_access_token(code, REDIRECT)
        token = await client.get_access_token(code, REDIRECT, self.verifier)
        self.assertFalse(token.is_expired())
        long = await client.get_long_lived_access_token(token["access_token"])
        self.assertEqual(await client.get_id_email(long["access_token"]), (ANN, EMAIL))

    def test_basic(self):
        asyncio.run(self.basic())

    async def basic(self):
        from httpx_oauth.oauth2 import GetAccessTokenError, OAuth2

        def client(secret):
            return OAuth2(
                APP,
                secret,
                "https://www.facebook.com/v25.0/dialog/oauth",
                "https://graph.facebook.com/v25.0/oauth/access_token",
                token_endpoint_auth_method="client_secret_basic",
            )

        code = (await asyncio.to_thread(log_in, await client(SECRET).get_authorization_url(REDIRECT)))["code"]
        with self.assertRaises(GetAccessTokenError):
            await client("wrong").get_access_token(code, REDIRECT)
        self.assertIn("access_token", await client(SECRET).get_access_token(code, REDIRECT))


class SocialCore(unittest.TestCase):
    def backend(self, data=None):
        from social_core.backends.facebook import FacebookOAuth2
        from social_core.storage import BaseStorage
        from social_core.strategy import BaseStrategy

        settings = {
            "SOCIAL_AUTH_FACEBOOK_KEY": APP,
            "SOCIAL_AUTH_FACEBOOK_SECRET": SECRET,
            "SOCIAL_AUTH_FACEBOOK_SCOPE": ["email"],
            "SOCIAL_AUTH_FACEBOOK_PROFILE_EXTRA_PARAMS": {"fields": "id,name,email"},
        }
        session = self.session

        class Storage(BaseStorage):
            class nonce:
                """Every one is new, and there to be used."""

                use = consume = classmethod(lambda cls, *_, **__: True)

        class Strategy(BaseStrategy):
            def get_setting(self, name):
                return settings[name]

            def request_data(self, merge=True):
                return data or {}

            def build_absolute_uri(self, path=None):
                return path

            def session_get(self, name, default=None):
                return session.get(name, default)

            def session_set(self, name, value):
                session[name] = value

            def session_pop(self, name):
                return session.pop(name, None)

            def authenticate(self, backend, *arguments, **named):
                return named["response"]

        return FacebookOAuth2(Strategy(Storage), redirect_uri=REDIRECT)

    def test_login(self):
        from social_core.exceptions import AuthException

        self.session = {}
        callback = log_in(self.backend().auth_url())
        self.assertEqual(set(callback["granted_scopes"].split(",")), {"email", "public_profile"})
        session = dict(self.session)
        user = self.backend(callback).auth_complete()
        self.assertEqual((user["id"], user["name"], user["email"]), (ANN, NAME, EMAIL))
        renewed = self.backend().refresh_token(user["access_token"])
        self.assertNotEqual(renewed["access_token"], user["access_token"])
        self.session = session
        with self.assertRaises(AuthException) as refused:
            self.backend(callback).auth_complete()
        self.assertEqual(refused.exception.provider_code, 100)

    def test_revocation(self):
        from social_core.exceptions import AuthException

        self.session = {}
        token = control("tokens", {"person": "cem"})["token"]
        me = self.backend().user_data(token)
        self.backend().revoke_token(token, me["id"])
        with self.assertRaises(AuthException) as refused:
            self.backend().user_data(token)
        self.assertEqual(refused.exception.provider_code, 190)


class FacebookBusiness(unittest.TestCase):
    def test_calls(self):
        from facebook_business.adobjects.user import User
        from facebook_business.api import FacebookAdsApi
        from facebook_business.exceptions import FacebookRequestError

        token = control("tokens", {"person": "ann"})["token"]
        api = FacebookAdsApi.init(APP, SECRET, token, crash_log=False)
        me = User("me").api_get(fields=["id", "name", "email"])
        self.assertEqual((me["id"], me["name"], me["email"]), (ANN, NAME, EMAIL))

        got, failed = [], []
        batch = api.new_batch()
        for identifier in ("me", "456", ANN):
            User(identifier).api_get(
                fields=["name"],
                batch=batch,
                success=lambda reply: got.append(reply.json()["name"]),
                failure=lambda reply: failed.append(reply.error().api_error_code()),
            )
        # Nothing to be repeated.
        self.assertIsNone(batch.execute())
        self.assertEqual((got, failed), ([NAME, NAME], [100]))

        FacebookAdsApi.init(APP, "0" * 32, token, crash_log=False)
        with self.assertRaises(FacebookRequestError) as refused:
            User("me").api_get(fields=["id"])
        self.assertEqual(refused.exception.api_error_code(), 100)
        self.assertIn("appsecret_proof", refused.exception.api_error_message())


class Allauth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import django
        from django.conf import settings

        settings.configure(
            SECRET_KEY="test",
            ALLOWED_HOSTS=["testserver"],
            ROOT_URLCONF="allauth.urls",
            DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
            INSTALLED_APPS=[
                *(f"django.contrib.{name}" for name in ("auth", "contenttypes", "sessions", "messages")),
                *("allauth", "allauth.account", "allauth.socialaccount", "allauth.socialaccount.providers.facebook"),
            ],
            MIDDLEWARE=[
                "django.contrib.sessions.middleware.SessionMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware",
                "django.contrib.messages.middleware.MessageMiddleware",
                "allauth.account.middleware.AccountMiddleware",
            ],
            TEMPLATES=[
                {
                    "BACKEND": "django.template.backends.django.DjangoTemplates",
                    "APP_DIRS": True,
                    "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
                }
            ],
            AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
            LOGIN_REDIRECT_URL="/done",
            ACCOUNT_EMAIL_VERIFICATION="none",
            SOCIALACCOUNT_STORE_TOKENS=True,
            SOCIALACCOUNT_PROVIDERS={
                "facebook": {"APP": {"client_id": APP, "secret": SECRET}, "EXCHANGE_TOKEN": True, "SCOPE": ["email"]}
            },
        )
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)

    def request(self):
        from allauth.core import context
        from django.test import RequestFactory

        request = RequestFactory().get("/")
        self.enterContext(context.request_context(request))
        return request

    def provider(self, request):
        from allauth.socialaccount.adapter import get_adapter

        return get_adapter().get_provider(request, "facebook")

    def test_login(self):
        from allauth.socialaccount.models import SocialAccount
        from django.test import Client

        browser = Client()
        callback = log_in(browser.post("/facebook/login/")["location"])
        done = browser.get("/facebook/login/callback/", callback)
        self.assertEqual((done.status_code, done.get("location")), (302, "/done"), done.content)
        account = SocialAccount.objects.get()
        self.assertEqual((account.uid, account.extra_data["email"]), (ANN, EMAIL))

        token = control("tokens", {"person": "ann", "kind": "short"})["token"]
        other = Client()
        self.assertEqual(other.post("/facebook/login/token/", {"access_token": token}).get("location"), "/done")
        self.assertEqual(other.session["_auth_user_id"], str(account.user.pk))
        self.assertEqual(SocialAccount.objects.count(), 1)
        foreign = control("tokens", {"person": "ann", "kind": "otherApp"})["token"]
        self.assertNotEqual(Client().post("/facebook/login/token/", {"access_token": foreign}).get("location"), "/done")

    def test_reauthentication(self):
        from allauth.socialaccount.providers.facebook import flows
        from django.forms import ValidationError
        import requests

        request = self.request()
        asked = f"client_id={APP}&redirect_uri=https://app.example/&auth_type=reauthenticate&auth_nonce=n1"
        code = log_in(f"https://www.facebook.com/v25.0/dialog/oauth?{asked}")["code"]
        token = requests.get(
            "https://graph.facebook.com/v25.0/oauth/access_token",
            {"client_id": APP, "client_secret": SECRET, "redirect_uri": "https://app.example/", "code": code},
        ).json()["access_token"]
        provider = self.provider(request)
        login = flows.verify_token(request, provider, token, "reauthenticate", "n1")
        self.assertEqual(login.account.uid, ANN)
        with self.assertRaises(ValidationError):
            flows.verify_token(request, provider, token, "reauthenticate", "n2")

    def test_limited_login(self):
        from django.forms import ValidationError

        request = self.request()
        provider = self.provider(request)
        token = control("id-tokens", {"person": "ann", "nonce": "n"})["token"]
        login = provider.verify_token(request, {"id_token": token})
        self.assertEqual((login.account.uid, login.account.extra_data["email"]), (ANN, EMAIL))
        for wrong in ({"claims": {"aud": "42"}}, {"signWith": "unknown"}):
            token = control("id-tokens", {"person": "ann", **wrong})["token"]
            with self.assertRaises(ValidationError):
                provider.verify_token(request, {"id_token": token})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--graph-port", type=int, required=True)
    parser.add_argument("--control-port", type=int, required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--certificate", required=True)
    options = parser.parse_args()

    Proxy.graph = ("127.0.0.1", options.graph_port)
    Proxy.certificate = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    Proxy.certificate.load_cert_chain(options.certificate)
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    proxy.daemon_threads = True
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    for name in [name for name in os.environ if re.fullmatch("(?i)(http|https|all|no)_proxy", name)]:
        del os.environ[name]
    os.environ["HTTPS_PROXY"] = f"http://127.0.0.1:{proxy.server_port}"
    os.environ["REQUESTS_CA_BUNDLE"] = os.environ["SSL_CERT_FILE"] = os.path.abspath(options.ca)
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
