"""An OpenID provider of scripts/openid-test: idpyoidc, which has all parts of a provider except the HTTP server.

The argument is a JSON file of settings (see `Provider.start` in openid-test.py). The program makes its keys in the
folder that the settings name, unless they are there. Logins and tokens are lost when it stops. Tokens are signed with
ES256.
"""

import json
import logging
import os
import pathlib
import sys
import traceback
import urllib.parse
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests
from cryptojwt.jws.jws import JWS, factory
from idpyoidc.message.oauth2 import ResponseMessage
from idpyoidc.message.oidc import AuthorizationRequest
from idpyoidc.server import Server
from idpyoidc.server.configure import OPConfiguration
from idpyoidc.server.exception import ClientAuthenticationError, FailedAuthentication
from idpyoidc.server.oidc.session import Session
from idpyoidc.server.session.grant import Grant

given = json.loads(pathlib.Path(sys.argv[1]).read_text())
issuer = f"http://127.0.0.1:{given['port']}"

# The login page: a template that idpyoidc fills.
LOGIN_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{ page_header }}</title></head><body>
<form action="{{ action }}" method="post"><input type="hidden" name="token" value="{{ token }}">
<label>{{ user_label }} <input name="username"></label>
<label>{{ passwd_label }} <input type="password" name="password"></label>
<input type="submit" value="{{ submit_btn }}"></form></body></html>
"""

# The page that asks a user to confirm the logout.
LOGOUT_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Log out</title></head><body>
<form action="/logout" method="post"><input type="hidden" name="sjwt" value="{}">
<input type="submit" value="Log out"></form></body></html>
"""

SECRET_METHODS = ["client_secret_basic", "client_secret_post"]

# The endpoints by their names in idpyoidc: the module (None: this file), the class, the path, and how clients
# authenticate.
ENDPOINTS = {
    "provider_config": ("oidc.provider_config", "ProviderConfiguration", ".well-known/openid-configuration", None),
    "authorization": ("oidc.authorization", "Authorization", "authorization", None),
    "token": ("oidc.token", "Token", "token", SECRET_METHODS),
    "userinfo": ("oidc.userinfo", "UserInfo", "userinfo", ["bearer_header"]),
    "introspection": ("oauth2.introspection", "Introspection", "introspection", SECRET_METHODS),
    "token_revocation": ("oauth2.token_revocation", "TokenRevocation", "revocation", SECRET_METHODS),
    "session": (None, "NamingSession", "session", None),
}
OPTIONS = {
    "userinfo": {"base_claims": {name: None for user in given["users"].values() for name in user["userinfo"]}},
    # Introspection also answers about tokens of other clients. The service must see for which client a token is.
    "introspection": {"enforce_audience_restriction": False},
    "session": {
        "post_logout_uri_path": "logged-out",
        "logout_verify_url": f"{issuer}/verify-logout",
        "signing_alg": "ES256",
        "backchannel_logout_supported": True,
        "backchannel_logout_session_supported": True,
    },
}


def endpoint(name):
    module, kind, path, methods = ENDPOINTS[name]
    options = {"client_authn_method": methods, **OPTIONS.get(name, {})}
    full_name = f"{__name__}.{kind}" if module is None else f"idpyoidc.server.{module}.{kind}"
    return {"path": path, "class": full_name, "kwargs": options}


def configuration():
    usage = {
        "authorization_code": {"supports_minting": ["access_token", "refresh_token", "id_token"], "max_usage": 1},
        "access_token": {"expires_in": 3600},
        "refresh_token": {"supports_minting": ["access_token", "refresh_token", "id_token"], "expires_in": 86400},
    }
    oct_keys = [{"type": "OCT", "use": ["enc"], "kid": "enc"}, {"type": "OCT", "use": ["sig"], "kid": "sig"}]
    jwt = {"class": "idpyoidc.server.token.jwt_token.JWTToken", "kwargs": {"lifetime": 3600}}
    password = {
        "acr": "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocolPassword",
        "class": "idpyoidc.server.user_authn.user.UserPassJinja2",
        "kwargs": {
            "verify_endpoint": "/verify/user",
            "template": "login.html",
            "db": {"class": dict, "kwargs": {name: given["password"] for name in given["users"]}},
        },
    }
    return {
        "issuer": issuer,
        "httpc_params": {"verify": True, "timeout": 4},
        "key_conf": {
            "private_path": f"{given['keys'][0]}.json",
            "key_defs": [{"type": "EC", "crv": "P-256", "use": ["sig"]}, {"type": "RSA", "use": ["sig"]}],
            "uri_path": "keys",
            "read_only": False,
        },
        "cookie_handler": {
            "class": "idpyoidc.server.cookie_handler.CookieHandler",
            "kwargs": {
                "keys": {"private_path": "cookies.json", "key_defs": oct_keys, "read_only": False},
                "name": {"session": "idpy", "register": "idpy_client", "session_management": "idpy_session"},
            },
        },
        "preference": {"subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["ES256"]},
        "endpoint": {name: endpoint(name) for name in ENDPOINTS},
        "add_on": {
            "pkce": {
                "function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                "kwargs": {"essential": True, "code_challenge_method": "S256"},
            }
        },
        "authz": {
            "class": "idpyoidc.server.authz.AuthzHandling",
            "kwargs": {"grant_config": {"usage_rules": usage, "expires_in": 43200}},
        },
        "authentication": {"user": password},
        "userinfo": {
            "class": "idpyoidc.server.user_info.UserInfo",
            "kwargs": {"db": {name: {**user["claims"], **user["userinfo"]} for name, user in given["users"].items()}},
        },
        # A user has the same subject after a restart.
        "session_params": {
            "sub_func": {
                "public": {
                    "class": "idpyoidc.server.session.manager.PublicID",
                    "kwargs": {"filename": f"{given['folder']}/subjects"},
                }
            }
        },
        "template_dir": ".",
        "token_handler_args": {
            "jwks_def": {
                "private_path": "tokens.json",
                "key_defs": [{"type": "oct", "bytes": 24, "use": ["enc"], "kid": "code"}],
                "read_only": False,
            },
            "code": {"kwargs": {"lifetime": 600}},
            "token": jwt,
            "refresh": jwt,
            "id_token": {
                "class": "idpyoidc.server.token.id_token.IDToken",
                "kwargs": {"add_claims_by_scope": True, "lifetime": 3600},
            },
        },
    }


def client(one):
    return {
        "client_id": one["id"],
        "client_secret": one["secret"],
        "client_salt": one["id"],
        "redirect_uris": [(uri, None) for uri in one["redirectUris"]],
        "token_endpoint_auth_method": "client_secret_basic",
        "response_types_supported": ["code"],
        "allowed_scopes": ["openid", "email", "profile", "offline_access"],
        "id_token_signed_response_alg": "ES256",
        "add_claims": {"by_scope": {"id_token": True}},
        **one["metadata"],
    }


class NamingSession(Session):
    """Ends sessions. idpyoidc's logout tokens name only the session (`sid`). Clients with `logout_names_user` get
    tokens that also name the user (`sub`), as OpenID Connect Back-Channel Logout 1.0 section 2.4 allows."""

    def client_authentication(self, *_, **__):
        """Authenticates no client: a browser calls this endpoint. idpyoidc would demand a client's token."""
        return {}

    def do_back_channel_logout(self, cinfo, sid):
        url, token = super().do_back_channel_logout(cinfo, sid)
        if cinfo.get("logout_names_user"):
            session = self.upstream_get("context").session_manager.get_session_info(sid, grant=True)
            claims = {**factory(token).jwt.payload(), "sub": session["grant"].sub}
            keys = self.upstream_get("attribute", "keyjar").get_signing_key("EC")
            token = JWS(json.dumps(claims), alg="ES256").sign_compact(keys)
        return url, token


# The statuses of the clients' responses to logout tokens.
logout_answers = []


def send_logout_token(method, url, **options):
    reply = requests.request(method, url, **options)
    logout_answers.append(reply.status_code)
    return reply


def make_server():
    os.chdir(given["folder"])
    pathlib.Path("login.html").write_text(LOGIN_PAGE)
    server = Server(OPConfiguration(configuration(), base_path=given["folder"]), cwd=given["folder"])
    server.context.httpc = send_logout_token
    server.context.cdb = {one["id"]: client(one) for one in given["clients"]}
    return server


class Handler(BaseHTTPRequestHandler):
    """The HTTP server for idpyoidc: finds the endpoint of a path, and sends its response."""

    server_version = "idpyoidc"
    provider: Server

    def do_GET(self):
        self.handle_path(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.handle_path(dict(urllib.parse.parse_qsl(body)))

    def handle_path(self, fields):
        path = urllib.parse.urlsplit(self.path).path.strip("/")
        try:
            if path == "keys":
                self.answer(200, self.provider.keyjar.export_jwks_as_json(), "application/json")
            elif path == "verify/user":
                self.verify(fields)
            elif path == "verify-logout":
                self.answer(200, LOGOUT_PAGE.format(escape(fields["sjwt"])))
            elif path == "logout":
                self.log_out(fields)
            elif path == "refresh-tokens":
                self.answer(200, json.dumps(self.refresh_tokens()), "application/json")
            else:
                names = [name for name, (_, _, known, _) in ENDPOINTS.items() if known == path]
                self.ask(names[0], fields) if names else self.answer(404, "nothing here")
        except (ClientAuthenticationError, FailedAuthentication) as error:
            self.refuse(401, "invalid_client", error)
        except Exception as error:
            traceback.print_exc()
            self.refuse(400, "invalid_request", error)

    def verify(self, fields):
        """Checks the password of the login page, and continues the request for which the page was shown."""
        method = self.provider.context.authn_broker.get_method_by_id("user")
        user = method.verify(**fields)
        question = method.unpack_token(fields["token"])
        request = AuthorizationRequest().from_urlencoded(question["query"])
        endpoint = self.provider.get_endpoint("authorization")
        session = endpoint.create_session(request, user, question["authn_class_ref"], question["iat"], method)
        self.send(endpoint, request, endpoint.authz_part2(request=request, session_id=session))

    def log_out(self, fields):
        """Ends the session after the confirmation, and shows the status of the response to the logout token."""
        session = self.provider.get_endpoint("session")
        session.do_verified_logout(session.unpack_signed_jwt(fields["sjwt"])["sid"])
        self.answer(200, f'<!DOCTYPE html><title>Logged out</title><p id="answer">{logout_answers[-1]}</p>')

    def refresh_tokens(self):
        """Returns all refresh tokens, the oldest first: client, text, and whether it is active. Only for the test."""
        nodes = self.provider.context.session_manager.db.values()
        # The database may have a grant under several keys.
        grants = {node.id: node for node in nodes if isinstance(node, Grant)}.values()
        return [
            (grant.authorization_request["client_id"], token.value, token.is_active())
            for grant in grants for token in grant.issued_token if token.token_class == "refresh_token"
        ]

    def ask(self, name, fields):
        endpoint = self.provider.get_endpoint(name)
        cookies = SimpleCookie(self.headers.get("Cookie", ""))
        http = {
            "headers": {name.lower(): value for name, value in self.headers.items() if name.lower() != "cookie"},
            "method": self.command,
            "url": issuer + self.path,
            "cookie": [{"name": name, "value": cookie.value} for name, cookie in cookies.items()],
        }
        request = endpoint.parse_request(fields, http_info=http)
        if isinstance(request, ResponseMessage) and "error" in request:
            self.answer(400, request.to_json(), "application/json")
            return
        answer = endpoint.process_request(request, http_info=http)
        if "redirect_location" in answer:
            self.answer(303, "", headers=[("Location", answer["redirect_location"])])
        elif "http_response" in answer:
            self.answer(200, answer["http_response"])
        else:
            self.send(endpoint, request, answer)

    def send(self, endpoint, request, answer):
        """Sends the response that the endpoint makes of an answer: a body, or a redirect."""
        if isinstance(answer, ResponseMessage) and "error" in answer:
            self.answer(400, answer.to_json(), "application/json")
            return
        made = endpoint.do_response(request=request, **answer)
        headers = [(name, value) for name, value in made["http_headers"] if name.lower() != "content-type"]
        for cookie in made.get("cookie", []):
            headers.append(("Set-Cookie", f"{cookie['name']}={cookie['value']}; Path=/; HttpOnly; SameSite=Lax"))
        if made.get("response_placement", endpoint.response_placement) == "url":
            self.answer(303, "", headers=[*headers, ("Location", made["response"])])
        else:
            kind = dict(made["http_headers"]).get("Content-type", "application/json")
            code = 400 if "error" in answer or "error" in answer.get("response_args", {}) else 200
            self.answer(made.get("response_code", code), made["response"], kind, headers)

    def refuse(self, status, error, cause):
        self.answer(status, json.dumps({"error": error, "error_description": str(cause)}), "application/json")

    def answer(self, status, text, kind="text/html; charset=utf-8", headers=()):
        body = text.encode()
        self.send_response(status)
        for name, value in [("Content-Type", kind), ("Content-Length", str(len(body))), *headers]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


logging.basicConfig(level=logging.WARNING)
Handler.provider = make_server()
ThreadingHTTPServer(("127.0.0.1", given["port"]), Handler).serve_forever()
