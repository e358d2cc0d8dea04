"""The part of scripts/firebase-test that calls Firebase's Admin SDK, unmodified, in one of its two modes.

In the mode `emulator` the SDK gets the service's address from FIREBASE_AUTH_EMULATOR_HOST, with an access token as the
password. In the mode `production` it gets the key file alone, and calls Google's host names. This program resolves them
to a proxy of its own.
"""

import argparse
import base64
import datetime
import hashlib
import http.client
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOSTS = ("identitytoolkit.googleapis.com", "www.googleapis.com", "oauth2.googleapis.com", "users.example.com")


class Proxy(BaseHTTPRequestHandler):
    """Ends TLS, and passes requests on to the service, with the host name that the SDK called."""

    protocol_version = "HTTP/1.1"
    service = ""

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("connection",)}
        connection = http.client.HTTPConnection(self.service, timeout=60)
        try:
            connection.request(self.command, self.path, body, headers)
            reply = connection.getresponse()
            content = reply.read()
        finally:
            connection.close()
        self.send_response_only(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = pass_on

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def get_request(self):
        connection, address = super().get_request()
        return self.certificate.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address


def resolve_to(port):
    """Resolves Google's host names, and that of the service, to the proxy."""
    resolve = socket.getaddrinfo

    def resolved(host, service, *arguments, **options):
        if host in HOSTS:
            return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))]
        return resolve(host, service, *arguments, **options)

    socket.getaddrinfo = resolved


def start_proxy():
    Proxy.service = options.service
    server = Server(("127.0.0.1", 0), Proxy)
    server.certificate = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.certificate.load_cert_chain(folder / "server.pem")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    resolve_to(server.server_port)
    os.environ["REQUESTS_CA_BUNDLE"] = str(folder / "ca.pem")


def access_token(key_file):
    """An access token, as Google's library for authentication gets it from the service."""
    import google.auth.transport.requests
    from google.oauth2 import service_account

    credentials = service_account.Credentials.from_service_account_file(
        str(key_file), scopes=["https://www.googleapis.com/auth/identitytoolkit"]
    )
    credentials.refresh(google.auth.transport.requests.Request())
    return credentials.token


def client(call, **members):
    """What a client of the application gets for a call."""
    connection = http.client.HTTPConnection(options.service, timeout=60)
    key = (folder / "demo.key").read_text().strip()
    path = f"/identitytoolkit.googleapis.com/v1/{call}?key={key}"
    connection.request("POST", path, json.dumps(members), {"Content-Type": "application/json"})
    reply = json.loads(connection.getresponse().read())
    connection.close()
    return reply


def error_of(reply):
    return reply.get("error", {}).get("message", "").split(" ")[0]


class Administration(unittest.TestCase):
    def setUp(self):
        self.uid = f"user-{uuid.uuid4()}"
        self.email = f"{self.uid}@example.com"

    def make(self, **members):
        return auth.create_user(uid=self.uid, email=self.email, password="one-two-three", **members)

    def sign_in(self):
        reply = client(
            "accounts:signInWithPassword", email=self.email, password="one-two-three", returnSecureToken=True
        )
        self.assertIn("idToken", reply, reply)
        return reply

    def test_users(self):
        made = self.make(
            display_name="Ann", phone_number="+15551234567", photo_url="https://example.com/a.png", email_verified=True
        )
        self.assertEqual((made.uid, made.email, made.display_name), (self.uid, self.email, "Ann"))
        self.assertTrue(made.email_verified and not made.disabled)
        self.assertLess(abs(made.user_metadata.creation_timestamp / 1000 - time.time()), 60)
        self.assertEqual(auth.get_user(self.uid).uid, self.uid)
        self.assertEqual(auth.get_user_by_email(self.email.upper()).uid, self.uid)
        self.assertEqual(auth.get_user_by_phone_number("+15551234567").uid, self.uid)
        names = [auth.UidIdentifier(self.uid), auth.EmailIdentifier(self.email), auth.UidIdentifier("nobody")]
        found = auth.get_users(names + [auth.ProviderIdentifier("facebook.com", "1")])
        self.assertEqual([user.uid for user in found.users], [self.uid])
        self.assertEqual(len(found.not_found), 2)
        changed = auth.update_user(self.uid, display_name="Bea", photo_url=auth.DELETE_ATTRIBUTE, phone_number=None)
        self.assertEqual((changed.display_name, changed.photo_url), ("Bea", None))
        self.assertIsNone(auth.update_user(self.uid, phone_number=auth.DELETE_ATTRIBUTE).phone_number)
        auth.delete_user(self.uid)
        with self.assertRaises(auth.UserNotFoundError):
            auth.get_user(self.uid)
        with self.assertRaises(auth.UserNotFoundError):
            auth.delete_user(self.uid)

    def test_errors(self):
        self.make()
        with self.assertRaises(auth.UidAlreadyExistsError):
            auth.create_user(uid=self.uid)
        with self.assertRaises(auth.EmailAlreadyExistsError):
            auth.create_user(email=self.email, password="one-two-three")
        with self.assertRaises(auth.UserNotFoundError):
            auth.get_user_by_email("nobody@example.com")
        with self.assertRaises(exceptions.InvalidArgumentError):
            auth.update_user(self.uid, password="short-1")
        auth.delete_user(self.uid)

    def test_claims_and_disabling(self):
        self.make()
        auth.set_custom_user_claims(self.uid, {"admin": True, "level": 3})
        self.assertEqual(auth.get_user(self.uid).custom_claims, {"admin": True, "level": 3})
        token = auth.verify_id_token(self.sign_in()["idToken"], check_revoked=True)
        self.assertEqual((token["uid"], token["admin"], token["level"]), (self.uid, True, 3))
        auth.set_custom_user_claims(self.uid, None)
        self.assertIsNone(auth.get_user(self.uid).custom_claims)
        signed_in = self.sign_in()
        auth.update_user(self.uid, disabled=True)
        with self.assertRaises(auth.UserDisabledError):
            auth.verify_id_token(signed_in["idToken"], check_revoked=True)
        reply = client("accounts:signInWithPassword", email=self.email, password="one-two-three")
        self.assertEqual(error_of(reply), "USER_DISABLED")
        auth.update_user(self.uid, disabled=False)
        self.sign_in()
        auth.delete_user(self.uid)

    def test_revocation(self):
        self.make()
        signed_in = self.sign_in()
        auth.verify_id_token(signed_in["idToken"], check_revoked=True)
        cookie = auth.create_session_cookie(signed_in["idToken"], datetime.timedelta(days=5))
        self.assertEqual(auth.verify_session_cookie(cookie, check_revoked=True)["uid"], self.uid)
        # The SDK compares whole seconds.
        while int(time.time()) <= auth.verify_id_token(signed_in["idToken"])["auth_time"]:
            time.sleep(0.05)
        auth.revoke_refresh_tokens(self.uid)
        self.assertGreater(auth.get_user(self.uid).tokens_valid_after_timestamp, 0)
        with self.assertRaises(auth.RevokedIdTokenError):
            auth.verify_id_token(signed_in["idToken"], check_revoked=True)
        with self.assertRaises(auth.RevokedSessionCookieError):
            auth.verify_session_cookie(cookie, check_revoked=True)
        reply = client("accounts:lookup", idToken=signed_in["idToken"])
        self.assertEqual(error_of(reply), "TOKEN_EXPIRED")
        auth.verify_id_token(self.sign_in()["idToken"], check_revoked=True)
        auth.delete_user(self.uid)

    def test_cookies(self):
        self.make()
        signed_in = self.sign_in()
        with self.assertRaises(ValueError):
            auth.create_session_cookie(signed_in["idToken"], 299)
        with self.assertRaises(auth.InvalidIdTokenError):
            auth.create_session_cookie("x", 300)
        cookie = auth.create_session_cookie(signed_in["idToken"], 300)
        self.assertEqual(error_of(client("accounts:lookup", idToken=cookie)), "INVALID_ID_TOKEN")
        with self.assertRaises(auth.InvalidIdTokenError):
            auth.verify_id_token(cookie)
        with self.assertRaises(auth.InvalidSessionCookieError):
            auth.verify_session_cookie(signed_in["idToken"])
        auth.delete_user(self.uid)

    def test_custom_tokens(self):
        token = auth.create_custom_token(self.uid, {"plan": "gold"}).decode()
        reply = client("accounts:signInWithCustomToken", token=token, returnSecureToken=True)
        if options.mode == "emulator":
            # There the SDK signs nothing, so anybody could make the token.
            self.assertEqual(error_of(reply), "INVALID_CUSTOM_TOKEN", reply)
            return
        self.assertTrue(reply.get("isNewUser"), reply)
        claims = auth.verify_id_token(reply["idToken"], check_revoked=True)
        self.assertEqual((claims["uid"], claims["plan"]), (self.uid, "gold"))
        self.assertEqual(claims["firebase"]["sign_in_provider"], "custom")
        again = client("accounts:signInWithCustomToken", token=token, returnSecureToken=True)
        self.assertNotIn("isNewUser", again)
        auth.delete_user(self.uid)

    def test_links(self):
        self.make()
        settings = auth.ActionCodeSettings(url="http://localhost:3000/done", handle_code_in_app=True)

        def code(link):
            address = urllib.parse.urlsplit(link)
            self.assertEqual((address.hostname, address.path), ("users.example.com", "/__/auth/action"))
            return urllib.parse.parse_qs(address.query)["oobCode"][0]

        signed_in = self.sign_in()
        self.assertFalse(auth.get_user(self.uid).email_verified)
        client("accounts:update", oobCode=code(auth.generate_email_verification_link(self.email, settings)))
        self.assertTrue(auth.get_user(self.uid).email_verified)
        reset = code(auth.generate_password_reset_link(self.email))
        reply = client("accounts:resetPassword", oobCode=reset, newPassword="four-five-six")
        self.assertEqual(reply.get("email"), self.email, reply)
        self.assertEqual(error_of(client("accounts:lookup", idToken=signed_in["idToken"])), "TOKEN_EXPIRED")
        link = auth.generate_sign_in_with_email_link(self.email, settings)
        reply = client("accounts:signInWithEmailLink", email=self.email, oobCode=code(link))
        self.assertEqual(reply.get("localId"), self.uid, reply)
        with self.assertRaises(auth.EmailNotFoundError):
            auth.generate_password_reset_link("nobody@example.com")
        auth.delete_user(self.uid)

    def test_import(self):
        password, salt = b"user1password", b"NaCl-of-the-user"
        vector = base64.b64decode  # Firebase's published example of its own scrypt, for this password.
        signer = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
        hashes = {
            "scrypt": (
                auth.UserImportHash.scrypt(vector(signer), rounds=8, memory_cost=14, salt_separator=vector("Bw==")),
                vector("lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="),
                vector("42xEC+ixf3L2lw=="),
            ),
            "pbkdf2": (
                auth.UserImportHash.pbkdf2_sha256(rounds=1000),
                hashlib.pbkdf2_hmac("sha256", password, salt, 1000),
                salt,
            ),
            "standard": (
                auth.UserImportHash.standard_scrypt(
                    memory_cost=1024, parallelization=1, block_size=8, derived_key_length=64
                ),
                hashlib.scrypt(password, salt=salt, n=1024, r=8, p=1, dklen=64),
                salt,
            ),
            "sha256": (
                auth.UserImportHash.sha256(rounds=1, input_order=auth.UserImportHash.SALT_FIRST)
                if hasattr(auth.UserImportHash, "SALT_FIRST") else auth.UserImportHash.sha256(rounds=1),
                hashlib.sha256(salt + password).digest(),
                salt,
            ),
        }
        for name, (algorithm, digest, its_salt) in hashes.items():
            uid = f"{name}-{self.uid}"
            record = auth.ImportUserRecord(
                uid, email=f"{uid}@example.com", display_name="Imported", custom_claims={"plan": name},
                password_hash=digest, password_salt=its_salt,
            )
            result = auth.import_users([record], hash_alg=algorithm)
            self.assertEqual((result.success_count, result.failure_count), (1, 0), [e.reason for e in result.errors])
            reply = client("accounts:signInWithPassword", email=f"{uid}@example.com", password=password.decode())
            self.assertEqual(reply.get("localId"), uid, (name, reply))
            user = auth.get_user(uid)
            self.assertEqual((user.display_name, user.custom_claims), ("Imported", {"plan": name}))
            auth.delete_user(uid)
        repeated = [auth.ImportUserRecord(self.uid, email=self.email), auth.ImportUserRecord(self.uid)]
        result = auth.import_users(repeated)
        self.assertEqual([error.index for error in result.errors], [1], [e.reason for e in result.errors])
        auth.delete_user(self.uid)

    def test_many(self):
        uids, page, sizes = [], auth.list_users(), []
        while page:
            uids += [user.uid for user in page.users]
            sizes.append(len(page.users))
            page = page.get_next_page()
        self.assertGreaterEqual(len(uids), 10_000 if options.mode == "emulator" else 8_000)
        self.assertEqual(len(set(uids)), len(uids))
        self.assertTrue(all(size == 1000 for size in sizes[:-1]), sizes)
        self.assertEqual(sum(1 for _ in auth.list_users().iterate_all()), len(uids))
        result = auth.delete_users(uids[:1000] + [])
        self.assertEqual((result.success_count, result.failure_count), (1000, 0), result.errors[:1])
        self.assertEqual(sum(1 for _ in auth.list_users().iterate_all()), len(uids) - 1000)

    def test_another_project(self):
        if options.mode == "emulator":
            self.skipTest("the emulator's mode has no service accounts")
        other = firebase_admin.initialize_app(
            credentials.Certificate(str(folder / "other.json")), {"projectId": "demo-project"}, f"other-{self.uid}"
        )
        with self.assertRaises(exceptions.PermissionDeniedError):
            auth.get_user("nobody", app=other)
        token = auth.create_custom_token(self.uid, app=other).decode()
        reply = client("accounts:signInWithCustomToken", token=token, returnSecureToken=True)
        self.assertEqual(error_of(reply), "CREDENTIAL_MISMATCH", reply)

    def test_withdrawal(self):
        if options.mode == "emulator":
            self.skipTest("the emulator's mode has no service accounts")
        account = "applications/demo/serviceAccounts/passing"
        made = subprocess.run([options.federation, "set", account], check=True, capture_output=True, text=True)
        app = firebase_admin.initialize_app(credentials.Certificate(json.loads(made.stdout)), name=self.uid)
        with self.assertRaises(auth.UserNotFoundError):
            auth.get_user("nobody", app=app)
        subprocess.run([options.federation, "delete", account, "--confirm", "passing"], check=True, capture_output=True)
        with self.assertRaises((exceptions.UnauthenticatedError, google.auth.exceptions.RefreshError)):
            auth.get_user("nobody", app=app)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["emulator", "production"])
    parser.add_argument("--service", required=True, help="HOST:PORT of the service's public listener")
    parser.add_argument("--folder", required=True, help="with ca.pem, server.pem, key files and API keys")
    parser.add_argument("--federation", required=True, help="the program of the service")
    options = parser.parse_args()
    folder = pathlib.Path(options.folder)
    start_proxy()
    if options.mode == "emulator":
        os.environ["FIREBASE_AUTH_EMULATOR_HOST"] = f"x:{access_token(folder / 'demo.json')}@{options.service}"
    import firebase_admin
    import google.auth.exceptions
    from firebase_admin import auth, credentials, exceptions

    if options.mode == "emulator":
        firebase_admin.initialize_app(options={"projectId": "demo-project"})
    else:
        firebase_admin.initialize_app(credentials.Certificate(str(folder / "demo.json")))
    unittest.main(argv=sys.argv[:1], verbosity=2)
