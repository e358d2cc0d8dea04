"""Steps of console-test.py on the overview and the log of logins that follows."""

import json
import urllib.error
import urllib.request


def refused(console):
    """Somebody whom the simulator does not know tries to log in; the id of the request."""
    body = json.dumps({"accessToken": "EAAnobody", "fieldsMapping": {}}).encode()
    request = urllib.request.Request(console.arguments.service + "/users/loginWithFacebook", body,
                                     {"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=20)
    except urllib.error.HTTPError as refusal:
        return refusal.headers["X-Request-Id"]
    raise SystemExit("console-test: a token of nobody's is taken")


def overview(console):
    """The overview has a table for each picture, and its spans are reached."""
    console.login("ann")
    refused(console)

    def rows(label):
        return console.browser.find_elements("css selector", f"[role=region][aria-label='{label}'] tbody tr")

    def counted():
        console.open("/console?hours=1")
        labels = ["Logins by method", "Most frequent errors", "Latency by stage", "Requests to providers"]
        return "New users" in console.find("figcaption").text and all(rows(label) for label in labels)

    console.until("each table has rows", counted)
    console.press(".spans a[href*='168']")
    if "Logins of the last week" not in console.text():
        raise SystemExit(f"console-test: no week: {console.text()}")


def followed(console):
    """A login is in the log by itself while somebody looks at it, asked for by what came since alone."""
    console.open("/console/logins?outcome=refused")
    loaded = "return performance.getEntriesByType('resource').map(entry => [entry.name, entry.encodedBodySize])"
    number = refused(console)
    console.until("the log follows", lambda: number in console.text())
    asked = [name for name, _ in console.browser.execute_script(loaded) if "/console/logins" in name]
    if not asked or any("/console/logins/since/" not in name for name in asked):
        raise SystemExit(f"console-test: the page asks for more than what came since: {asked}")
    first = console.find(".live tbody tr").text
    if number not in first:
        raise SystemExit(f"console-test: what came last is not first: {first}")


def patient(console):
    """While the service refuses, the page says so and asks more rarely; then it goes on."""
    console.open("/console/logins?outcome=refused")
    console.cdp("Network.enable")
    console.cdp("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
    console.until("it says so", lambda: "cannot be loaded" in console.find(".live [role=status]").text)
    console.cdp("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    number = refused(console)
    console.until("the log goes on", lambda: number in console.text())
    if console.find(".live [role=status]").text:
        raise SystemExit("console-test: it says still that nothing can be had")
