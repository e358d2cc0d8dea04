"""The part of scripts/browser-test that drives the browser: serves the pages of a client and walks through its logins."""

import argparse
import base64
import hashlib
import hmac
import json
import pathlib
import re
import shutil
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

# What a client's page does; the test presses its buttons and reads what it shows. Every page is the same, whatever its
# path.
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Client</title></head><body>
<button id="redirect">Log in by redirect</button> <button id="popup">Log in by popup</button>
<p id="from"></p><pre id="result"></pre>
<script>
const service = SERVICE;
const show = (result, from) => {
    document.getElementById("from").textContent = from;
    document.getElementById("result").textContent = JSON.stringify(result);
};
const base64url = bytes =>
    btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const post = (path, body) => fetch(service + path, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
});
const wish = () => JSON.parse(sessionStorage.getItem("wish") || "{}");

document.getElementById("redirect").onclick = async () => {
    if (sessionStorage.getItem("plain")) {
        location.href = await (await post("/users/oauth/facebook/request_url", wish())).text();
        return;
    }
    const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
    sessionStorage.setItem("verifier", verifier);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
    const reply = await post("/users/oauth/facebook/request_url", {
        ...wish(), codeChallenge: base64url(digest), codeChallengeMethod: "S256",
    });
    location.href = await reply.text();
};
document.getElementById("popup").onclick = async () => {
    const given = sessionStorage.getItem("dialog");
    const url = given || await (await post("/users/social/oauth/facebook/request_url", wish())).text();
    window.open(url, "login", "width=500,height=600");
};
window.addEventListener("message", event => show(JSON.parse(event.data), event.origin));

const query = new URLSearchParams(location.search);
if (query.has("loginCode")) {
    post("/users/loginWithFacebook", {
        loginCode: query.get("loginCode"), codeVerifier: sessionStorage.getItem("verifier") || undefined,
    }).then(async reply => show({
        status: reply.status, missing: reply.headers.get("Federation-Missing-Permissions"), body: await reply.json(),
    }, "login code"));
}
</script></body></html>
"""


# The page of a client of Firebase, at the path /firebase.
FIREBASE_PAGE = (pathlib.Path(__file__).parent / "firebase-page.html").read_text()


def serve(host, port, client):
    """Serves the pages, of the application that the client works with at the time."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            page, service = PAGE, client.service
            if self.path.startswith("/firebase"):
                service = "/".join(service.split("/")[:3])
                page = FIREBASE_PAGE.replace("KEY", json.dumps(client.firebase_key), 1)
            self.wfile.write(page.replace("SERVICE", json.dumps(service)).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


class Client:
    """A browser with the client's page, and a person before it."""

    def __init__(self, arguments):
        self.service = arguments.service
        self.firebase_key = arguments.firebase_key
        self.pictures = arguments.pictures and pathlib.Path(arguments.pictures)
        self.axe = pathlib.Path(arguments.axe).read_text()
        self.page = f"http://localhost:{arguments.page_port}"
        self.other = f"http://127.0.0.1:{arguments.other_port}"
        self.unlisted = f"http://localhost:{arguments.unlisted_port}"
        for port in [arguments.page_port, arguments.other_port, arguments.unlisted_port]:
            serve("127.0.0.1", port, self)
        options = webdriver.ChromeOptions()
        for option in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                       "--disable-background-networking", f"--user-data-dir={arguments.profile}"]:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = shutil.which("chromium")
        # Named, so that selenium looks for none to download.
        self.browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        self.window = self.browser.current_window_handle
        self.authenticator = None

    def cdp(self, command, **parameters):
        return self.browser.execute_cdp_cmd(command, parameters)

    def until(self, what, condition):
        """Waits; an element that goes with its page between being found and being read is looked for again."""
        wait = WebDriverWait(self.browser, 15, poll_frequency=0.05, ignored_exceptions=[WebDriverException])
        return wait.until(lambda _: condition(), what)

    def open(self, page=None, **stored):
        """Opens the client's page afresh, with what it is to find in its storage."""
        self.browser.switch_to.window(self.window)
        self.browser.get(page or self.page)
        self.browser.execute_script(
            "sessionStorage.clear(); for (const [key, value] of Object.entries(arguments[0])) sessionStorage.setItem(key, value);",
            {key: value if isinstance(value, str) else json.dumps(value) for key, value in stored.items()})

    def press(self, button):
        self.browser.find_element(By.ID, button).click()

    def enter_popup(self):
        self.until("a popup opens", lambda: len(self.browser.window_handles) == 2)
        popup, = [window for window in self.browser.window_handles if window != self.window]
        self.browser.switch_to.window(popup)

    def leave_popup(self):
        self.until("the popup closes itself", lambda: len(self.browser.window_handles) == 1)
        self.browser.switch_to.window(self.window)

    def answer(self, action, person="ann", declined=()):
        """Answers Facebook's dialog."""
        self.until("the dialog shows", lambda: self.browser.find_elements(By.CSS_SELECTOR, "button[name=action]"))
        self.browser.find_element(By.CSS_SELECTOR, f"input[name=person][value={person}]").click()
        for permission in declined:
            box = self.browser.find_element(By.CSS_SELECTOR, f"input[name=granted][value={permission}]")
            if box.is_selected():
                box.click()
        self.browser.find_element(By.CSS_SELECTOR, f"button[name=action][value={action}]").click()

    def result(self):
        """What the page shows in the end, and where it has it from."""
        text = self.until("a result shows", lambda: self.browser.find_element(By.ID, "result").text)
        return json.loads(text), self.browser.find_element(By.ID, "from").text

    def complaints(self):
        """What the browser's console has against our pages; that a site has no icon is none."""
        return [entry["message"] for entry in self.browser.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING") and "favicon" not in entry["message"]]


def require(condition, what, *seen):
    if not condition:
        raise SystemExit(f"browser-test: {what}: {seen}")


def by_redirect(client, wish=None, declined=(), **stored):
    client.open(wish=wish or {}, **stored)
    client.press("redirect")
    client.answer("continue", declined=declined)
    result, source = client.result()
    url = client.browser.current_url
    require(url.startswith(client.page + "/done?from=login&loginCode="), "the browser ends at another address", url)
    require(source == "login code" and result["status"] == 200, "the login code is refused", result)
    # A token has 180 characters; a login code, which may hold the same three letters, 43.
    token = result["body"]["user-token"] in url or re.search(r"EAA\w{60}", url)
    require(not token, "a token is in the address", url)
    return result


def without_challenge(client):
    """The way leads through the service, which gives the browser what the end of the login asks for."""
    return by_redirect(client, {"redirectAfterLoginUrl": client.page + "/done?from=login"}, plain="yes")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def another_browser(client):
    """Somebody begins a login in a browser of their own, and brings the end of it to this one."""
    theirs = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(), NoRedirect)

    def location(url, data=None):
        try:
            theirs.open(url, data, timeout=10)
        except urllib.error.HTTPError as reply:
            return reply.headers["Location"]
        raise SystemExit(f"browser-test: no redirect from {url.split('?')[0]}")

    request = urllib.request.Request(client.service + "/users/oauth/facebook/request_url", b"{}",
                                     {"Content-Type": "application/json"})
    with theirs.open(request, timeout=10) as reply:
        dialog = urllib.parse.urlsplit(location(reply.read().decode()))
    answer = urllib.parse.parse_qsl(dialog.query) + [("person", "ann"), ("granted", "email"), ("action", "continue")]
    callback = location(dialog._replace(query="").geturl(), urllib.parse.urlencode(answer).encode())
    client.browser.get(callback)
    text = client.browser.find_element(By.TAG_NAME, "body").text
    require("another browser" in text and "loginCode" not in client.browser.current_url, "it ends here", text)
    require("loginCode=" in location(callback), "the browser that began it cannot end it any more")


def cancelled_redirect(client):
    client.open()
    client.press("redirect")
    client.answer("cancel")
    expected = client.page + "/done?from=login&error=8117&reason=login_cancelled"
    client.until("the browser comes back", lambda: client.browser.current_url == expected)


def by_popup(client):
    client.open()
    client.press("popup")
    client.enter_popup()
    client.answer("continue")
    client.leave_popup()
    user, origin = client.result()
    require(client.service.startswith(origin + "/"), "the message is of another origin", origin)
    require(user.get("user-token"), "the message holds no session", user)
    require(isinstance(user.pop("user-created", None), bool), "the message does not say whether the user is new", user)
    require("user_birthday" in user.pop("missing-permissions", []), "the message names no missing permission", user)
    return user


def cancelled_popup(client):
    client.open()
    client.press("popup")
    client.enter_popup()
    client.answer("cancel")
    client.leave_popup()
    message, _ = client.result()
    require(list(message) == ["fault"] and message["fault"]["code"] == 8117, "no fault comes back", message)


def foreign_opener(client):
    """A page of another origin opens the dialog that was asked for in the name of the client's page."""
    request = urllib.request.Request(client.service + "/users/social/oauth/facebook/request_url", b"{}", {
        "Content-Type": "application/json", "Origin": client.page,
    })
    with urllib.request.urlopen(request, timeout=10) as reply:
        dialog = reply.read().decode()
    client.open(client.other, dialog=dialog)
    client.press("popup")
    client.enter_popup()
    # The page closes itself once it has sent the message; here it stays, to be read.
    client.cdp("Page.addScriptToEvaluateOnNewDocument", source="window.close = () => { document.body.id = 'sent'; };")
    client.answer("continue")
    find(client, "#sent")
    target = json.loads(find(client, "#origin").get_attribute("textContent"))
    require(target == client.page, "the message is for another origin", target)
    client.browser.close()
    client.browser.switch_to.window(client.window)
    # A message that comes, comes at once.
    time.sleep(1)
    shown = client.browser.find_element(By.ID, "result").text
    require(shown == "", "the page of another origin has got the user", shown)


def firebase(client):
    """A page with Firebase's SDK logs in by popup and redirect; a page of another origin gets neither."""
    def begin(page):
        client.open(page)
        return lambda: client.browser.find_element(By.ID, "from").text

    answers = client.until("the frame answers", begin(client.page + "/firebase"))
    expected = [[7], [True], [{"status": "ACK", "webStorageSupport": True}]]
    require(json.loads(answers) == expected, "other answers", answers)
    require(client.result()[0] == {"error": "auth/no-auth-event"}, "an event from nowhere", client.result())
    client.press("popup")
    client.enter_popup()
    client.answer("continue")
    client.leave_popup()
    popup, _ = client.result()
    client.press("popup")
    client.enter_popup()
    client.answer("cancel")
    client.leave_popup()
    require(client.result()[0] == {"error": "auth/user-cancelled"}, "another error", client.result())
    client.press("redirect")
    client.answer("continue")
    redirect, _ = client.result()
    require(client.browser.current_url == client.page + "/firebase", "it ends elsewhere", client.browser.current_url)
    for result, kind in [(popup, "signInViaPopup"), (redirect, "signInViaRedirect")]:
        seen = result.get("type"), result.get("eventId"), result.get("status")
        require(seen == (kind, "4711", 200), "no login", result)
    require(popup["body"]["localId"] == redirect["body"]["localId"], "one person became several users")
    client.until("the frame answers any page", begin(client.other + "/firebase"))
    client.press("popup")
    client.enter_popup()
    client.until("the refusal", lambda: "UNAUTHORIZED_DOMAIN" in client.browser.find_element(By.TAG_NAME, "body").text)
    client.browser.close()
    client.browser.switch_to.window(client.window)
    shown = client.browser.find_element(By.ID, "result").text
    require(shown == "", "the page of another origin has got an event", shown)


def declined_permission(client):
    wish = {"fieldsMapping": {"birthday": "born"}, "permissions": "email,user_birthday"}
    first = by_redirect(client, wish, declined=["user_birthday"])
    missing = (first["missing"] or "").split(", ")
    require("user_birthday" in missing and first["body"]["born"] is None, "the permission is not named", first)
    again = by_redirect(client, {**wish, "authType": "rerequest"})
    missing = (again["missing"] or "").split(", ")
    require("user_birthday" not in missing and again["body"]["born"] == "05/17/1990", "the permission did not come back", again)
    return again["body"]


def code(secret, offset=0):
    """What an authenticator app shows (RFC 6238), by the secret that it was given."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, (int(time.time()) // 30 + offset).to_bytes(8, "big"), hashlib.sha1).digest()
    place = digest[-1] & 15
    return f"{(int.from_bytes(digest[place:place + 4], 'big') & 0x7fffffff) % 10**6:06d}"


def find(client, selector):
    return client.until(selector, lambda: client.browser.find_elements(By.CSS_SELECTOR, selector))[0]


def send_code(client, text):
    find(client, "input[name=code]").send_keys(text)
    find(client, "form button:not([name])").click()


def enrol_app(client):
    """Sets up an authenticator app on the page of a dialog's end, with the picture and the recovery codes."""
    find(client, "button[name=kind][value=totp]").click()
    require(find(client, "svg").size["width"] > 0, "the picture does not show")
    secret = find(client, "p > code").text
    send_code(client, code(secret, -1))
    require(len(client.until("recovery codes", lambda: client.browser.find_elements(By.CSS_SELECTOR, "li code"))) == 10,
            "there are not ten recovery codes")
    return secret


def factor_by_redirect(client, secret=None):
    """The page at the end of a dialog asks for an authenticator app, or sets one up."""
    client.open()
    client.press("redirect")
    client.answer("continue", person="bob")
    if secret is None:
        secret = enrol_app(client)
        find(client, "button[name=goOn]").click()
    else:
        send_code(client, "000000" if code(secret) != "000000" else "111111")
        find(client, "[role=alert]")
        send_code(client, code(secret))
    result, source = client.result()
    require(source == "login code" and result["status"] == 200, "the login code is refused", result)
    return secret


def factor_by_popup(client, secret):
    client.open()
    client.press("popup")
    client.enter_popup()
    client.answer("continue", person="bob")
    send_code(client, code(secret, 1))
    client.leave_popup()
    user, _ = client.result()
    require(user.get("user-token"), "the message holds no session", user)


def authenticator(client, verifies=True):
    """Gives the browser a virtual authenticator in place of the one before."""
    if client.authenticator:
        client.cdp("WebAuthn.removeVirtualAuthenticator", authenticatorId=client.authenticator)
    client.cdp("WebAuthn.enable")
    client.authenticator = client.cdp("WebAuthn.addVirtualAuthenticator", options={
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": verifies, "automaticPresenceSimulation": True,
    })["authenticatorId"]


def to_factor_page(client, person):
    """Goes to the end of a dialog by redirect, where the page asks."""
    client.open()
    client.press("redirect")
    client.answer("continue", person=person)


def made_passkey(client, person):
    """Registration on the page of a dialog's end."""
    to_factor_page(client, person)
    find(client, "button[name=kind][value=passkey]").click()
    find(client, "#passkey").click()
    find(client, "button[name=goOn]").click()
    result, _ = client.result()
    require(result["status"] == 200, "the login code is refused", result)
    return result["body"]["objectId"]


def shown_passkey(client, person, user):
    to_factor_page(client, person)
    find(client, "#passkey").click()
    result, _ = client.result()
    require(result["status"] == 200 and result["body"]["objectId"] == user, "the passkey is refused", result)


def refused_passkey(client, what, selector):
    """Presses the page's button, and reads why it came to nothing."""
    find(client, "#passkey").click()
    text = client.until(what, lambda: [one.text for one in client.browser.find_elements(By.CSS_SELECTOR, selector) if one.text])
    require("loginCode" not in client.browser.current_url, f"{what}: there is a login code", text)


def cloned_passkey(client, person):
    """Another copy of the credential has signed meanwhile: this one's counter is behind."""
    to_factor_page(client, person)
    held, = client.cdp("WebAuthn.getCredentials", authenticatorId=client.authenticator)["credentials"]
    client.cdp("WebAuthn.removeCredential", authenticatorId=client.authenticator, credentialId=held["credentialId"])
    client.cdp("WebAuthn.addCredential", authenticatorId=client.authenticator, credential={**held, "signCount": 0})
    refused_passkey(client, "the page refuses the clone", "[role=alert]:not(#problem)")
    client.cdp("WebAuthn.removeCredential", authenticatorId=client.authenticator, credentialId=held["credentialId"])
    client.cdp("WebAuthn.addCredential", authenticatorId=client.authenticator,
               credential={**held, "signCount": held["signCount"] + 10})


def passkey_login(client, page):
    """A client's own page logs in by the passkey alone; returns the status and the reply."""
    client.open(page)
    return client.browser.execute_async_script("""
        const [service, done] = arguments;
        const post = async (path, body) => {
            const reply = await fetch(service + path, {
                method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
            });
            return [reply.status, await reply.json()];
        };
        (async () => {
            const [, begun] = await post("/users/passkey/start", {});
            const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(begun.publicKey);
            const credential = await navigator.credentials.get({publicKey});
            return post("/users/passkey/finish", {pending: begun.pending, credential: credential.toJSON()});
        })().then(done, error => done([0, {error: error.name}]));
        """, client.service)


def passkeys(client, foreign):
    authenticator(client)
    user = made_passkey(client, "ann")
    shown_passkey(client, "ann", user)
    status, body = passkey_login(client, client.page)
    require(status == 200 and body["objectId"] == user, "the passkey does not log in", status, body)
    # The page's origin is none of the application's, and its host has nothing to do with the passkey's.
    status, body = passkey_login(client, client.unlisted)
    require(status == 401 and body["errorData"]["passkey"] == "wrong_origin", "a page of another origin logs in", status, body)
    status, body = passkey_login(client, client.other)
    require(status == 0 and body["error"] == "SecurityError", "the browser lets another host ask", status, body)
    cloned_passkey(client, "ann")
    # An application whose passkeys are another domain's.
    client.service, own = foreign, client.service
    to_factor_page(client, "cem")
    find(client, "button[name=kind][value=passkey]").click()
    refused_passkey(client, "the browser refuses the domain", "#problem")
    client.service = own
    # Whose authenticator does not know its holder logs nobody in.
    client.cdp("WebAuthn.setUserVerified", authenticatorId=client.authenticator, isUserVerified=False)
    status, body = passkey_login(client, client.page)
    require(status != 200, "a passkey without user verification logs in", status, body)


def used_address(client):
    """The address that Facebook sent the browser to, opened once more, and one that nobody gave out."""
    client.browser.get(client.service + "/users/oauth/facebook/authorize?state=<b>x</b>&code=1")
    text = client.browser.find_element(By.TAG_NAME, "body").text
    require("start again" in text and "x" not in text.split(), "the page says something else", text)


# What a page must be on a small telephone: nothing sticks out, what is pressed is large enough for a finger, what is
# typed into does not make the telephone zoom, and every text has a contrast of 4.5 at least.
EXAMINE = """
const faults = [], root = document.documentElement;
const shown = one => one.getClientRects().length > 0;
const rgb = text => text.match(/[\\d.]+/g).map(Number);
const luminance = color => color.slice(0, 3).map(value => value / 255)
    .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
const ground = one => {
    for (let place = one; place; place = place.parentElement) {
        const color = rgb(getComputedStyle(place).backgroundColor);
        if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
};
if (root.scrollWidth > root.clientWidth) faults.push(`${root.scrollWidth} px wide`);
for (const one of document.querySelectorAll("body *")) {
    if (!shown(one)) continue;
    const {left, right, height} = one.getBoundingClientRect(), style = getComputedStyle(one);
    const name = `${one.tagName} ${one.name || one.id || one.className}`;
    if (left < 0 || right > root.clientWidth) faults.push(`${name} sticks out`);
    if (one.matches("button, input:not([type=checkbox])") && height < 44) faults.push(`${name} is ${height} px high`);
    if (one.matches("input") && parseFloat(style.fontSize) < 16) faults.push(`${name} makes a telephone zoom`);
    const texts = [...one.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!texts && !one.matches("input, button") || one.closest("script, style, svg")) continue;
    const [dark, light] = [luminance(rgb(style.color)), luminance(ground(one))].sort((a, b) => a - b);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) faults.push(`${name} has a contrast of ${contrast}`);
}
for (const one of document.querySelectorAll("input:not([type=hidden]), button"))
    if (!(one.labels && one.labels.length) && !one.textContent.trim()) faults.push(`${one.name} has no label`);
if (document.querySelectorAll("h1").length !== 1) faults.push("there is not one h1");
if (!root.lang || !document.title) faults.push("no language or no title");
return faults;
"""


def examine(client, name):
    """Holds the page to what it must be in light and dark, also with letters of twice the size, and takes pictures."""
    for scheme in ["light", "dark"]:
        client.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for size in ["100%", "200%"]:
            client.browser.execute_script("document.documentElement.style.fontSize = arguments[0]", size)
            faults = client.browser.execute_script(EXAMINE)
            require(not faults, f"the page {name}, {scheme}, with letters of {size}", faults)
            client.browser.execute_script(client.axe)
            found = client.browser.execute_async_script(
                "const done = arguments[0]; axe.run().then(done, error => done({violations: [String(error)]}));")
            require(not found["violations"], f"axe finds something on {name}, {scheme}, with letters of {size}",
                    json.dumps(found["violations"], indent=1)[:4000])
            if client.pictures:
                height = client.browser.execute_script("return document.documentElement.scrollHeight")
                clip = {"x": 0, "y": 0, "width": 320, "height": height, "scale": 2}
                picture = client.cdp("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
                (client.pictures / f"{name}-{scheme}-{size.rstrip('%')}.png").write_bytes(base64.b64decode(picture))
    client.browser.execute_script("document.documentElement.style.fontSize = ''")
    client.cdp("Emulation.setEmulatedMedia", features=[])


def speak(client, languages):
    client.cdp("Network.enable")
    client.cdp("Network.setExtraHTTPHeaders", headers={"Accept-Language": languages} if languages else {})


def mailed_link(client, mails, address, page):
    """The newest link of a mail; mails are quoted-printable, and links stand in a line of their own."""
    def links():
        texts = [path.read_text() for path in sorted(mails.glob("*.eml"), key=lambda path: path.stat().st_mtime_ns)]
        return [link for text in texts if address in text
                for link in re.findall(rf"https?://\S+/{page}\?token=[\w-]+", text.replace("=\n", "").replace("=3D", "="))]
    return client.until(f"a mail with {page}", links)[-1]


def heading(client):
    return find(client, "h1").text


def call(client, path, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(client.service + path, data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return reply.read()


def new_password(client, mails, languages, address):
    """Somebody sets a new password on a telephone of 320 px, tries a short one before, and logs in by it."""
    call(client, "/users/register", {"email": address, "password": "a first sentence of words"})
    call(client, f"/users/restorepassword/{address}")
    speak(client, languages)
    client.browser.get(mailed_link(client, mails, address, "reset-password"))
    language = client.browser.execute_script("return document.documentElement.lang")
    examine(client, f"reset-{language}")
    field = find(client, "input[name=password]")
    rule = client.browser.execute_script(
        "return document.getElementById(arguments[0].getAttribute('aria-describedby')).innerText", field)
    require("15" in rule, "the rule of passwords is not told", rule)
    field.send_keys("too short")
    find(client, "form button").click()
    invalid = client.browser.execute_script("return arguments[0].validity.tooShort", field)
    require(invalid and find(client, "input[name=password]") == field, "the browser sends what is too short")
    field.clear()
    field.send_keys("passwordpassword")
    find(client, "form button").click()
    find(client, "[role=alert]")
    examine(client, f"refused-{language}")
    find(client, "input[name=password]").send_keys("another sentence of words")
    find(client, "form button").click()
    client.until("the password is set", lambda: not client.browser.find_elements(By.CSS_SELECTOR, "form"))
    examine(client, f"set-{language}")
    user = json.loads(call(client, "/users/login", {"login": address, "password": "another sentence of words"}))
    require(user.get("user-token"), "the new password does not log in", user)


def pages(client, mails, guarded):
    """The pages for people, as a small telephone shows them."""
    client.cdp("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=2, mobile=True)
    for languages, address in [("de-CH,de;q=0.9", "tess@example.com"), ("en", "uma@example.com")]:
        new_password(client, mails, languages, address)
    client.browser.get(mailed_link(client, mails, "uma@example.com", "reset-password"))
    require(heading(client) == "Something went wrong", "a link counts twice", heading(client))
    examine(client, "failed")
    speak(client, "de")
    client.browser.get(client.service + "/users/oauth/facebook/deletion/x")
    require(heading(client) == "Löschung Ihrer Daten", "the page of a deletion speaks another language", heading(client))
    examine(client, "deletion")
    client.service, own = guarded, client.service
    to_factor_page(client, "dora")
    find(client, "button[name=kind][value=totp]")
    examine(client, "enrol")
    find(client, "button[name=kind][value=totp]").click()
    find(client, "svg")
    examine(client, "picture")
    secret = find(client, "p > code").text
    send_code(client, code(secret, -1))
    find(client, "li code")
    examine(client, "codes")
    find(client, "button[name=goOn]").click()
    client.result()
    to_factor_page(client, "dora")
    find(client, "input[name=code]")
    examine(client, "factor")
    client.service = own
    speak(client, "")
    client.cdp("Emulation.clearDeviceMetricsOverride")


def press_to(client, path):
    """Presses the button of the form, or the link, that goes to a path of the account page."""
    find(client, f"form[action$='/account{path}'] button, a[href$='/account{path}']").click()


def account(client, languages, words):
    """Somebody works with the account page on a telephone of 320 px: opened by a link of the app, linked with Facebook
    by its dialog, the password changed, left and deleted."""
    password = "a first sentence of words"
    address = f"account-{languages[:2]}@example.com"
    call(client, "/users/register", {"email": address, "password": password, "name": "<b>Ada</b>"})
    user = json.loads(call(client, "/users/login", {"login": address, "password": password}))
    link = json.loads(call(client, "/users/account/link", {}, **{"user-token": user["user-token"]}))["url"]
    speak(client, languages)
    page = link.split("?")[0]
    client.browser.get(link)
    name = f"account-{languages[:2]}"
    examine(client, f"{name}-link")
    press_to(client, "/link")
    client.until("the account", lambda: client.browser.current_url == page)
    require(heading(client) == words["title"], "the page speaks another language", heading(client))
    require("<b>Ada</b>" in find(client, "dl").text, "a name is markup", find(client, "dl").text)
    examine(client, name)
    def come_back():
        """Answers the dialog, and waits for the page of ours that it leads to."""
        client.answer("continue", person=words["person"])
        ours = "form[action$='/account/providers/facebook']"
        client.until("the way back", lambda: client.browser.find_elements(By.CSS_SELECTOR, ours))

    press_to(client, "/providers/facebook/start")
    come_back()
    press_to(client, "/providers/facebook")
    client.until("the account", lambda: client.browser.current_url == page + "?done=linked")
    find(client, "[role=status]")
    # Once more, since a code counts for a minute: this time the page is looked at.
    client.browser.get(page + "/providers/facebook/start")
    come_back()
    examine(client, f"{name}-back")
    client.browser.get(page)
    require("Facebook" in find(client, "ul.rows").text, "no account is linked", find(client, "ul.rows").text)
    examine(client, f"{name}-linked")
    for path in ["/address", "/password"]:
        press_to(client, path)
        examine(client, name + path.replace("/", "-"))
        if path == "/address":
            client.browser.get(page)
    for field, text in [("currentPassword", password), ("password", "another sentence of words")]:
        find(client, f"input[name={field}]").send_keys(text)
    press_to(client, "/password")
    find(client, "[role=status]")
    examine(client, f"{name}-changed")
    press_to(client, "/sign-out")
    client.until("the end", lambda: client.browser.current_url == page + "/sign-out")
    examine(client, f"{name}-out")
    client.browser.back()
    require(address not in client.browser.page_source, "the button back shows the account to whoever comes next")
    client.browser.get(page)
    examine(client, f"{name}-log-in")
    for field, text in [("login", address), ("password", "another sentence of words")]:
        find(client, f"input[name={field}]").send_keys(text)
    press_to(client, "/login")
    press_to(client, "/delete")
    find(client, "input[name=word]").send_keys(words["word"])
    examine(client, f"{name}-delete")
    press_to(client, "/delete")
    client.until("the end", lambda: heading(client) == words["deleted"])
    examine(client, f"{name}-deleted")
    speak(client, "")


def account_pages(client):
    client.cdp("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=2, mobile=True)
    account(client, "de-CH,de;q=0.9", {"title": "Ihr Konto", "person": "cem", "word": "LÖSCHEN", "deleted": "Konto gelöscht"})
    account(client, "en", {"title": "Your account", "person": "dora", "word": "DELETE", "deleted": "Account deleted"})
    client.cdp("Emulation.clearDeviceMetricsOverride")


def main():
    parser = argparse.ArgumentParser()
    texts = ["--service", "--firebase-key", "--guarded", "--foreign", "--profile", "--mails", "--pictures", "--axe"]
    for name in texts:
        parser.add_argument(name, required=True)
    for name in ["--page-port", "--other-port", "--unlisted-port"]:
        parser.add_argument(name, required=True, type=int)
    arguments = parser.parse_args()
    client = Client(arguments)
    if client.pictures:
        client.pictures.mkdir(parents=True, exist_ok=True)
    users = []
    try:
        for what, step in [
            ("completed redirect", lambda: users.append(by_redirect(client)["body"])),
            ("completed redirect without a challenge", lambda: users.append(without_challenge(client)["body"])),
            ("the end of another browser's login", lambda: another_browser(client)),
            ("cancelled redirect", lambda: cancelled_redirect(client)),
            ("completed popup", lambda: users.append(by_popup(client))),
            ("cancelled popup", lambda: cancelled_popup(client)),
            ("declined permission, asked for again", lambda: users.append(declined_permission(client))),
            ("address without a login", lambda: used_address(client)),
        ]:
            started = time.monotonic()
            step()
            print(f"  {what}: {time.monotonic() - started:.1f} s", flush=True)
        require(not [text for text in client.complaints() if "Content Security Policy" in text],
                "a policy of ours hinders a page of ours", client.complaints())
        firebase(client)
        print("  clients of Firebase: popup, redirect, cancelled; nothing for a page of another origin", flush=True)
        foreign_opener(client)
        print("  popup of another origin's page: nothing told", flush=True)
        require(len({user["objectId"] for user in users}) == 1, "one person became several users", users)
        pages(client, pathlib.Path(arguments.mails), arguments.guarded)
        print("  pages for people at 320 px: light and dark, letters of twice the size, two languages", flush=True)
        account_pages(client)
        print("  the account page at 320 px: opened by a link, linked by a dialog, changed, left, deleted", flush=True)
        client.service = arguments.guarded
        secret = factor_by_redirect(client)
        print("  redirect over the page that sets up an authenticator app", flush=True)
        factor_by_redirect(client, secret)
        print("  redirect over the page that asks for its code", flush=True)
        factor_by_popup(client, secret)
        print("  popup over the same page", flush=True)
        passkeys(client, arguments.foreign)
        print("  passkeys: made, as second factor, as login; other origin, other host, clone, other domain, not verified",
              flush=True)
        require(not [text for text in client.complaints() if "Content Security Policy" in text],
                "a policy of ours hinders a page of ours", client.complaints())
    finally:
        client.browser.quit()


main()
