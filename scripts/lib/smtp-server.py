#!/usr/bin/env python3
"""A real SMTP server (aiosmtpd) for tests: keeps what it accepts, and answers as it is told.

Writes `listening PORT` when it is ready, then every mail that it accepted as a line of JSON: {"from", "to", "tls", "user",
"content"}; of one that it saw whole and then treated otherwise the same, and how as "outcome".

What the local part of a recipient begins with comes to pass, so that one server serves all cases:
  refused-…     RCPT TO is answered with 550 5.1.1
  busy-…        RCPT TO is answered with 450 4.2.1
  rejected-…    the content is answered with 554 5.6.0
  later-…       the content is answered with 451 4.3.0
  dropped-…     the connection breaks when the content has come
  silent-…      the content is never answered
A sender that begins with stays- never hears an answer to QUIT.
"""

import argparse
import asyncio
import json
import ssl

from aiosmtpd.smtp import SMTP, AuthResult


class Mails:
    def __init__(self, user, password):
        self.user, self.password = user, password

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("refused-"):
            return f"550 5.1.1 <{address}> is unknown here"
        if address.startswith("busy-"):
            return f"450 4.2.1 <{address}> gets too many mails"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        recipient = envelope.rcpt_tos[0]
        kind = recipient.split("-")[0]
        if kind in ("dropped", "silent", "rejected", "later"):
            self.note(server, session, envelope, outcome=kind)
        if kind == "dropped":
            server.transport.abort()
            await asyncio.sleep(3600)
        if kind == "silent":
            await asyncio.sleep(3600)
        if kind == "rejected":
            return f"554 5.6.0 will not be taken for <{recipient}>"
        if kind == "later":
            return "451 4.3.0 try again"
        self.note(server, session, envelope)
        return "250 2.0.0 OK: queued"

    async def handle_QUIT(self, server, session, envelope):
        if session.stays:
            await asyncio.sleep(3600)
        return "221 2.0.0 Bye"

    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        session.host_name = hostname
        session.stays = False
        return responses

    async def handle_MAIL(self, server, session, envelope, address, options):
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        session.stays = address.startswith("stays-")
        return "250 2.1.0 OK"

    def authenticate(self, server, session, envelope, mechanism, data):
        user, password = getattr(data, "login", b"").decode(), getattr(data, "password", b"").decode()
        session.login_name = user
        return AuthResult(success=(user, password) == (self.user, self.password), handled=False)

    @staticmethod
    def note(server, session, envelope, **more):
        print(
            json.dumps(
                {
                    "from": envelope.mail_from,
                    "to": envelope.rcpt_tos,
                    "tls": server.transport.get_extra_info("ssl_object") is not None,
                    "user": getattr(session, "login_name", None),
                    "client": session.host_name,
                    "content": envelope.content.decode("utf-8", "replace"),
                    **more,
                }
            ),
            flush=True,
        )


async def serve(options):
    context = None
    if options.certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(options.certificate, options.key)
    mails = Mails(options.user, options.password)

    def connection():
        return SMTP(
            mails,
            hostname="mail.test",
            ident="test",
            timeout=600,
            tls_context=context if options.security == "starttls" else None,
            require_starttls=options.security == "starttls",
            authenticator=mails.authenticate if options.user else None,
            auth_required=bool(options.user),
            auth_require_tls=options.security == "starttls",
        )

    server = await asyncio.get_running_loop().create_server(
        connection, "127.0.0.1", options.port, ssl=context if options.security == "tls" else None
    )
    print("listening", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--security", choices=["none", "starttls", "tls"], default="none")
parser.add_argument("--certificate", help="PEM file of the certificate")
parser.add_argument("--key", help="PEM file of its key")
parser.add_argument("--user", help="asks for a login by this user")
parser.add_argument("--password")
parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
try:
    asyncio.run(serve(parser.parse_args()))
except KeyboardInterrupt:
    pass
