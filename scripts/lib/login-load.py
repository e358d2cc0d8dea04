"""Logins with Facebook at a fixed rate, written down one by one, and what must hold of them afterwards.

    login-load.py people    people with access tokens, added to the data of the Graph simulator
    login-load.py run       logins of these people, open-loop, until SIGTERM; a line of the journal for each
    login-load.py check     holds the journal to the service and its database

The journal and the file of events are the memory of a test that breaks things under load: the shell breaks them and
notes when (`TIME NAME`, a line each); nothing here knows what was broken.
"""

import argparse
import asyncio
import collections
import json
import pathlib
import random
import signal
import ssl
import subprocess
import sys
import time

# The app of docker/simulator.json whose secret mappings/demo.json has.
APP = "1234567890"
# Longer than the service lets any login take.
PATIENCE = 15
OPENAPI = pathlib.Path(__file__).parents[2] / "docs/openapi/public.json"


def person(number):
    """The person with that number, and the access token of theirs."""
    scopes = ["public_profile", "email"]
    return {
        "key": f"load-{number}", "ids": {APP: str(20_000_000_000_000_000 + number)},
        "name": f"Given{number} Family{number}", "first_name": f"Given{number}", "last_name": f"Family{number}",
        "email": f"load{number}@example.com", "permissions": {scope: "granted" for scope in scopes},
    }, {"name": f"load-{number}", "kind": "long", "person": f"load-{number}", "text": f"EAAload{number:012}"}


def application_of(number, applications):
    """The one application that the person logs in to, of several; None where there is the base's alone."""
    return applications[number % len(applications)] if applications else None


def people(arguments):
    """Writes the simulator's data with the people added."""
    data = json.loads(arguments.data.read_text())
    for number in range(arguments.count):
        one, token = person(number)
        data["people"].append(one)
        data["tokens"].append(token)
    arguments.output.write_text(json.dumps(data))


class BadReply(Exception):
    """An answer that is no HTTP as the service speaks it, or none at all."""


class Pool:
    """HTTP/1.1 connections to one listener, kept open; as many as there are requests at once."""

    def __init__(self, url, authority):
        scheme, _, rest = url.partition("://")
        address, _, base = rest.partition("/")
        self.host, _, port = address.partition(":")
        self.port, self.base, self.url = int(port), "/" + base, url
        if scheme not in ("http", "https"):
            raise SystemExit(f"{url} is neither http://host:port/base nor https://…")
        self.tls = ssl.create_default_context(cafile=authority) if scheme == "https" else None
        self.idle = []

    async def request(self, method, path, body=None, application=None):
        """Status, headers in small letters, and body; of another application than the base's, where one is named."""
        base = self.base if application is None else self.base.replace("/demo/", f"/{application}/", 1)
        while True:
            if not self.idle:
                connection = await asyncio.open_connection(self.host, self.port, ssl=self.tls)
                break
            connection = self.idle.pop()
            # The service closes what has been idle for a minute.
            if not connection[0].at_eof():
                break
            connection[1].close()
        reader, writer = connection
        kept = False
        try:
            head = f"{method} {base}{path} HTTP/1.1\r\nHost: {self.host}\r\n"
            if body is not None:
                head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            writer.write(head.encode() + b"\r\n" + (body or b""))
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            text = await reader.readexactly(int(headers["content-length"]))
            kept = headers.get("connection", "").lower() != "close"
            return int(first.split()[1]), headers, text
        except (asyncio.IncompleteReadError, ConnectionError, KeyError, ValueError) as error:
            raise BadReply(repr(error)) from error
        finally:
            if kept:
                self.idle.append(connection)
            else:
                writer.close()


class Load:
    """Logins that are due at fixed moments, whatever becomes of those before."""

    def __init__(self, arguments):
        self.pools = [Pool(url, arguments.authority) for url in arguments.at]
        self.rate, self.count, self.applications = arguments.rate, arguments.count, arguments.applications
        self.random = random.Random(arguments.seed)
        # One login of five is somebody's first; the others are of people who come again and again.
        self.regulars = max(1, self.count // 10)
        self.newcomer = self.regulars
        self.journal = arguments.journal.open("w")
        self.stopped = asyncio.Event()

    def choose(self):
        if self.newcomer < self.count and self.random.random() < 0.2:
            self.newcomer += 1
            return self.newcomer - 1
        return self.random.randrange(self.regulars)

    async def log_in(self, due, instance, number):
        line = {"due": due, "instance": instance, "person": number, "status": 0}
        try:
            body = json.dumps({"accessToken": person(number)[1]["text"]}).encode()
            application = application_of(number, self.applications)
            request = self.pools[instance].request("POST", "/users/loginWithFacebook", body, application)
            line["status"], headers, text = await asyncio.wait_for(request, PATIENCE)
            line["retryAfter"] = headers.get("retry-after")
            line["created"] = headers.get("federation-user-created")
            reply = json.loads(text)
            if line["status"] == 200:
                line["user"], line["session"] = reply["objectId"], reply["user-token"]
            else:
                line["reason"] = reply["errorData"]["reason"]
                line["told"] = bool(reply["code"] and reply["message"] and reply["errorData"]["requestId"])
        except (BadReply, OSError, asyncio.TimeoutError) as error:
            line["problem"] = repr(error)
        except (ValueError, KeyError, TypeError) as error:
            line["problem"] = f"the body is not as documented: {error!r}"
        line["end"] = time.time()
        self.journal.write(json.dumps(line) + "\n")

    async def run(self):
        loop = asyncio.get_running_loop()
        for name in [signal.SIGTERM, signal.SIGINT]:
            loop.add_signal_handler(name, self.stopped.set)
        began, sent, under_way = time.time(), 0, set()
        while not self.stopped.is_set():
            due = began + sent / self.rate
            if due > time.time():
                await asyncio.sleep(due - time.time())
            task = asyncio.create_task(self.log_in(due, sent % len(self.pools), self.choose()))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            sent += 1
        if under_way:
            await asyncio.wait(under_way)
        self.journal.close()


class Check:
    """What must hold of a journal."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.attempts = [json.loads(line) for line in arguments.journal.read_text().splitlines()]
        self.given = [attempt for attempt in self.attempts if attempt["status"] == 200]
        self.wrong = []

    def expect(self, what, offenders):
        """Notes the first of those of whom something does not hold."""
        offenders = list(offenders)
        if offenders:
            self.wrong.append(f"{what}: {len(offenders)}, such as {offenders[0]}")

    def replies(self):
        """Only what docs/openapi has is ever answered, in its form, and who may come again is told when."""
        path = json.loads(OPENAPI.read_text())["paths"]["/users/loginWithFacebook"]
        documented = {int(status) for status in path["post"]["responses"] if status.isdigit()}
        self.expect("no reply, or none as documented", (a for a in self.attempts if "problem" in a))
        replies = [attempt for attempt in self.attempts if attempt["status"]]
        self.expect("undocumented status", (a for a in replies if a["status"] not in documented))
        self.expect("no code, message and request id", (a for a in replies if a["status"] != 200 and not a.get("told")))
        waiting = (a for a in replies if a["status"] in (429, 503, 504) and not (a["retryAfter"] or "").isdigit())
        self.expect("no Retry-After", waiting)
        allowed = set(self.arguments.may_fail)
        self.expect("a failure for a reason that has no place here",
                    (a for a in replies if a["status"] != 200 and a.get("reason") not in allowed))

    def people(self):
        """Each person has one user, whoever asks, and none is half-written."""
        users = collections.defaultdict(set)
        firsts = collections.Counter()
        for attempt in self.given:
            users[attempt["person"]].add(attempt["user"])
            firsts[attempt["person"]] += attempt["created"] == "true"
        self.expect("a person with two users", (p for p, ids in users.items() if len(ids) > 1))
        self.expect("a person who was made twice", (p for p, count in firsts.items() if count > 1))
        stored = {}
        for schema in self.arguments.applications or ["demo"]:
            stored.update(self.users(schema))
        kept = {attempt["person"] for attempt in self.given if self.counts(attempt)}
        expected = ((person(number)[0]["ids"][APP], users[number]) for number in kept)
        self.expect("a user whom the database does not have", (s for s, ids in expected if stored.get(s) not in ids))

    def users(self, schema):
        """Who is whom in the schema of an application, and that all of them are whole."""
        broken = self.query(f"""
            select 'users without one identity', count(*) from "{schema}".users u
                where (select count(*) from "{schema}".identities i where i.object_id = u.object_id) <> 1
            union all select 'identities beyond one a person',
                count(*) - count(distinct (provider, provider_app, subject)) from "{schema}".identities
            union all select 'half-written users', count(*) from "{schema}".users
                where last_login is null or social_account is null or email is null or "givenName" is null
        """)
        self.expect(f"in the schema {schema}", (row for row in broken if row[1] != "0"))
        return self.query(f'select subject, upper(object_id::text) from "{schema}".identities')

    def counts(self, attempt):
        """Whether the database must have the session: whether it was given before the moment that was restored."""
        return not self.arguments.valid_until or attempt["end"] < self.arguments.valid_until

    async def sessions(self):
        """Every session that was given out counts, at every instance; of a restored database, those from before."""
        pools = [Pool(url, self.arguments.authority) for url in self.arguments.at]
        queue = iter(enumerate(self.given))
        lost, risen = [], []

        async def work():
            for index, attempt in queue:
                path = f"/users/isvalidusertoken/{attempt['session']}"
                application = application_of(attempt["person"], self.arguments.applications)
                _, _, text = await pools[index % len(pools)].request("GET", path, application=application)
                if text == b"false" and self.counts(attempt):
                    lost.append(attempt)
                if text == b"true" and self.arguments.gone_from and attempt["due"] > self.arguments.gone_from:
                    risen.append(attempt)

        await asyncio.gather(*(work() for _ in range(16)))
        self.expect("a session that was given out and is lost", lost)
        self.expect("a session from after the moment that was restored", risen)

    def recoveries(self):
        """How long after each fault logins went on; printed, and held to the limit."""
        lines = [line.split() for line in self.arguments.events.read_text().splitlines()]
        events = [(float(moment), name) for moment, name in lines]
        ends = [event for event in events if event[1] == self.arguments.until]
        begins = [moment for moment, name in events if name == self.arguments.since]
        for (end, _), begin in zip(ends, begins):
            # What is under way when the next fault comes is that one's.
            following = next((moment for moment in begins if moment > end), float("inf"))
            print(f"from {self.arguments.since} to {self.arguments.until}: {end - begin:.1f} s")
            for instance, name in enumerate(self.arguments.names or self.arguments.at):
                own = [a for a in self.attempts if a["instance"] == instance]
                succeeded = [a["end"] for a in own if a["status"] == 200 and a["due"] > begin and a["end"] > end]
                failed = [a["due"] for a in own if a["status"] != 200 and begin - 1 < a["due"] and a["end"] < following]
                if not succeeded:
                    self.wrong.append(f"{name}: no login after {self.arguments.until}")
                    continue
                print(f"  {name}: first login after {min(succeeded) - end:.2f} s, last failure after "
                      f"{max(failed, default=end) - end:.2f} s, {len(failed)} logins failed")
            late = [a for a in self.attempts if end + self.arguments.within <= a["due"] and a["end"] < following]
            if late:
                share = sum(a["status"] == 200 for a in late) / len(late)
                print(f"  {self.arguments.within:g} s later: {100 * share:.2f} % of {len(late)} succeeded")
                if share < 0.99:
                    self.wrong.append(f"less than 99 % of logins succeeded {self.arguments.within:g} s after")
        if not ends or len(ends) != len(begins):
            self.wrong.append(f"{len(begins)} times {self.arguments.since}, {len(ends)} times {self.arguments.until}")

    def query(self, statement):
        command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--field-separator=|", "--set=ON_ERROR_STOP=1",
                   "--command", statement, self.arguments.database]
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return [tuple(line.split("|")) for line in result.stdout.splitlines()]

    def run(self):
        failed = collections.Counter(a.get("reason", "no reply") for a in self.attempts if a["status"] != 200)
        took = sorted(a["end"] - a["due"] for a in self.given)
        print(f"{len(self.attempts)} logins, {len(self.given)} succeeded, others: {dict(failed)}; "
              f"50 % of those that succeeded within {1000 * took[len(took) // 2]:.0f} ms, "
              f"99 % within {1000 * took[len(took) * 99 // 100]:.0f} ms")
        self.replies()
        self.people()
        asyncio.run(self.sessions())
        if self.arguments.events:
            self.recoveries()
        for problem in self.wrong:
            print(f"NOT AS IT SHOULD BE: {problem}")
        if self.wrong:
            raise SystemExit(1)
        print("each session that was given out counts, and each person has one user")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("people")
    making.add_argument("--count", type=int, required=True)
    making.add_argument("--data", type=pathlib.Path, required=True, help="data of the simulator to begin with")
    making.add_argument("--output", type=pathlib.Path, required=True)
    running = commands.add_parser("run")
    running.add_argument("--count", type=int, required=True, help="how many people there are")
    running.add_argument("--rate", type=float, required=True, help="logins a second")
    running.add_argument("--seed", type=int, required=True)
    running.add_argument("--journal", type=pathlib.Path, required=True)
    running.add_argument("--applications", nargs="*", default=[], help="in place of the base's: people take turns")
    running.add_argument("--at", nargs="+", required=True, help="base of the application at each instance")
    running.add_argument("--authority", help="of the certificates of those with TLS")
    checking = commands.add_parser("check")
    checking.add_argument("--journal", type=pathlib.Path, required=True)
    checking.add_argument("--applications", nargs="*", default=[], help="in place of the base's: people take turns")
    checking.add_argument("--at", nargs="+", required=True)
    checking.add_argument("--authority")
    checking.add_argument("--names", nargs="+", default=[], help="what to call the instances")
    checking.add_argument("--database", required=True, help="URL")
    checking.add_argument("--may-fail", nargs="*", default=[], help="reasons for which logins may fail")
    checking.add_argument("--valid-until", type=float, help="the moment up to which sessions must count; else all")
    checking.add_argument("--gone-from", type=float, help="the moment from which they must not")
    checking.add_argument("--events", type=pathlib.Path)
    checking.add_argument("--since", help="the event that is a fault")
    checking.add_argument("--until", help="the event after which logins go on")
    checking.add_argument("--within", type=float, default=10, help="seconds after which 99 %% succeed")
    arguments = parser.parse_args()
    match arguments.command:
        case "people":
            people(arguments)
        case "run":
            load = Load(arguments)
            asyncio.run(load.run())
        case "check":
            Check(arguments).run()


if __name__ == "__main__":
    sys.exit(main())
