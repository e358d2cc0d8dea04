"""Logs people in, and asks Prometheus every expression of the dashboard and of the loaded alerts.

Exit 1 when an expression is an error, or has no data although what it is about has happened.
"""

import argparse
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

# What does not happen here: these may be without data. Everything else must have some.
MAY_BE_EMPTY = (
    "federation_mail_wait_seconds",
    "federation_mails_total",
    "federation_maintenance_removed_total",
    "federation_maintenance_checks_total",
)


def ask(url, body=None):
    request = urllib.request.Request(url, headers={"Content-Type": "application/json"})
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=10) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        return json.load(error)


def log_in(options):
    """Logins that succeed, one that fails, and a check of a session."""
    token = ask(f"{options.control}/tokens", {"kind": "long", "person": "ann"})["token"]
    user = ask(f"{options.service}/users/loginWithFacebook", {"accessToken": token})
    if "user-token" not in user:
        sys.exit(f"a login failed: {user}")
    ask(f"{options.service}/users/isvalidusertoken/{user['user-token']}")
    ask(f"{options.service}/users/loginWithFacebook", {"accessToken": "EAAno"})


def query(options, expression):
    for name, value in (("$__rate_interval", "30s"), ("$application", ".*")):
        expression = expression.replace(name, value)
    return ask(f"{options.prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": expression}))


def expressions_of_dashboard(path):
    with open(path, encoding="utf-8") as file:
        dashboard = json.load(file)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield f"{panel['title']} ({target['refId']})", target["expr"]
    for annotation in dashboard["annotations"]["list"]:
        yield f"annotation {annotation['name']}", annotation["expr"]


def must_have_data(expression):
    return not any(name in expression for name in MAY_BE_EMPTY) and "changes(" not in expression


def problems(options):
    for title, expression in expressions_of_dashboard(options.dashboard):
        reply = query(options, expression)
        if reply["status"] != "success":
            yield f"{title}: {reply.get('error')}"
        elif not reply["data"]["result"] and must_have_data(expression):
            yield f"{title}: no data for {expression}"
    for group in ask(f"{options.prometheus}/api/v1/rules")["data"]["groups"]:
        for rule in group["rules"]:
            if rule["health"] != "ok":
                yield f"{rule['name']}: {rule['health']} {rule.get('lastError', '')}"
            if rule["state"] != "inactive":
                yield f"{rule['name']}: is {rule['state']} while nothing is wrong"


def main():
    parser = argparse.ArgumentParser()
    for name in ("service", "control", "prometheus", "dashboard"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    found = ["nothing was asked"]
    end = time.monotonic() + 90
    while found and time.monotonic() < end:
        for _ in range(5):
            log_in(options)
        time.sleep(3)
        found = list(problems(options))
    rules = ask(f"{options.prometheus}/api/v1/rules")["data"]["groups"]
    count = sum(len(group["rules"]) for group in rules)
    asked = len(list(expressions_of_dashboard(options.dashboard)))
    if count < 10 or asked < 30:
        found.append(f"only {count} alerts and {asked} expressions were there")
    for problem in found:
        print(problem)
    print(f"{asked} expressions of the dashboard, {count} alerts, {len(found)} problems")
    sys.exit(1 if found else 0)


main()
