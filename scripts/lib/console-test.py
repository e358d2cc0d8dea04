"""The part of scripts/browser-test that drives the console: signs in, looks at every page in both themes and at every
width, and works with it by mouse, by keyboard alone and without JavaScript."""

import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import urllib.parse
import urllib.request

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import console_overview
import console_people

WIDTHS = [320, 768, 1280, 3840]
MAPPING = "/console/applications/demo/mappings/facebook"
# What a page cost, by the browser's own account.
FIGURES = """
const entries = performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"));
const paint = await new Promise(resolve => {
    new PerformanceObserver(list => list.getEntriesByName("first-contentful-paint").forEach(resolve))
        .observe({type: "paint", buffered: true});
    setTimeout(resolve, 2000);
});
const shifts = await new Promise(resolve => {
    let sum = 0;
    new PerformanceObserver(list => list.getEntries().forEach(entry => sum += entry.value))
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => resolve(sum), 100);
});
return {requests: entries.length, bytes: entries.reduce((sum, entry) => sum + entry.encodedBodySize, 0),
    paint: Math.round(paint ? paint.startTime : 0), shift: Math.round(1000 * shifts) / 1000};
"""


def require(condition, what, *seen):
    if not condition:
        raise SystemExit(f"console-test: {what}: {seen}")


class Console:
    def __init__(self, arguments):
        self.origin = arguments.console
        self.arguments = arguments
        options = webdriver.ChromeOptions()
        for option in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                       "--hide-scrollbars", "--disable-background-networking", f"--user-data-dir={arguments.profile}"]:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = shutil.which("chromium")
        self.browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        self.axe = pathlib.Path(arguments.axe).read_text()
        self.figures = []

    def cdp(self, command, **parameters):
        return self.browser.execute_cdp_cmd(command, parameters)

    def until(self, what, condition):
        """Waits; an element that goes with its page between being found and being read is looked for again."""
        wait = WebDriverWait(self.browser, 30, poll_frequency=0.05, ignored_exceptions=[WebDriverException])
        return wait.until(lambda _: condition(), what)

    def open(self, path):
        self.browser.get(self.origin + path)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def heading(self):
        return self.find("h1").text

    def text(self):
        return self.find("body").text

    def press(self, selector):
        """Presses what leads to another page, and waits for that."""
        before = self.find("html").id
        self.find(selector).click()
        self.until("the next page", lambda: self.find("html").id != before)

    def fill(self, selector, text):
        field = self.find(selector)
        field.clear()
        field.send_keys(text)

    def command(self, *arguments):
        run = subprocess.run([self.arguments.federation, *arguments], capture_output=True, text=True, check=True)
        return run.stdout.strip()

    def sign_in(self, name):
        link = self.command("console", name, "--at", self.origin)
        self.browser.delete_all_cookies()
        self.browser.get(link)
        self.press("form button")
        require(self.heading() == "Overview", "no overview after signing in", self.text())

    def token(self, person):
        """An access token of a person of the simulator."""
        body = json.dumps({"kind": "long", "person": person}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.arguments.control + "/tokens", body), timeout=20) as reply:
            return json.load(reply)["token"]

    def login(self, person, service=None):
        """Logs a person of the simulator in, and returns the user object."""
        request = urllib.request.Request((service or self.arguments.service) + "/users/loginWithFacebook",
                                         json.dumps({"accessToken": self.token(person), "fieldsMapping": {}}).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.load(reply)


def look(console, name, path):
    """A page has no fault that axe finds, in either theme, and fits every width; it is kept as pictures."""
    for theme in ["light", "dark"]:
        console.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        console.cdp("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
        console.open(path)
        require(console.heading() != "The request failed", f"{name} is refused", console.text())
        console.browser.execute_script(console.axe)
        found = console.browser.execute_async_script(
            "const done = arguments[0]; axe.run().then(done, error => done({violations: [String(error)]}));")
        require(not found["violations"], f"axe finds something on {name} ({theme})",
                json.dumps(found["violations"], indent=1)[:4000])
        if console.arguments.pictures:
            shot = console.cdp("Page.captureScreenshot", format="webp", quality=60)["data"]
            pathlib.Path(console.arguments.pictures, f"{name}-{theme}.webp").write_bytes(base64.b64decode(shot))
    for width in WIDTHS:
        console.cdp("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        wide = console.browser.execute_script("return document.documentElement.scrollWidth")
        require(wide <= width, f"{name} does not fit {width} pixels", wide)
        bars = console.browser.find_elements(By.CSS_SELECTOR, ".bar")
        # On a telephone the sections take two lines.
        require(not bars or bars[0].size["height"] < 140, f"the header of {name} is high at {width} pixels", bars and bars[0].size)
    console.cdp("Emulation.clearDeviceMetricsOverride")
    # On a busy machine a table is painted before its last rows are there, and its columns move. What scripts or styles
    # move, they move at each load.
    for _ in range(3):
        console.open(path)
        figures = console.browser.execute_script("return (async () => {" + FIGURES + "})()")
        if figures["shift"] == 0:
            break
    require(figures["bytes"] < 64_000, f"{name} is large", figures)
    require(figures["shift"] == 0, f"{name} moves at each load", figures)
    console.figures.append((name, figures))


def first_operator(console):
    """The first owner is made by the link that the command line prints, and is signed in."""
    link = console.command("console", "--at", console.origin)
    look(console, "first-operator", link.removeprefix(console.origin))
    console.fill("#name", "ann")
    console.press("main form button")
    require("The operator ann is created" in console.text(), "nobody is made", console.text())
    console.open("/console")
    require(console.heading() == "Overview", "the owner is not logged in", console.text())


def setup(console):
    """From an app id and its secret to the first login, by the guide alone."""
    console.open("/console/applications")
    console.fill("#application", "fresh")
    console.fill("#name", "Fresh")
    console.press("main form button")
    require(console.heading() == "Setting up Fresh", "no guide", console.text())
    console.fill("#appId", "1234567890")
    console.fill("#appSecret", "notTheSecretAtAll")
    console.press("#step-provider button")
    require("does not accept this app secret" in console.text(), "a wrong secret is not told", console.text())
    console.open("/console/applications/fresh/setup")
    require("error" in console.find("#step-provider h2").text, "a check that failed is gone", console.text())
    require(console.find("#appId").get_attribute("value") == "1234567890", "the app's id is gone", console.text())
    console.open("/console/applications/fresh/providers/facebook")
    console.fill("[name=app-0-appSecret]", os.environ["DEMO_FACEBOOK_APP_SECRET"])
    # The only button beside the typed secret saves it.
    console.press(".app ~ .actions button")
    require(console.find(".notice").text == "Saved.", "nothing says that it is saved", console.text())
    console.until("it is said once", lambda: "done=" not in console.browser.current_url)
    console.open("/console/applications/fresh/setup")
    require(console.find("#verdict + .scroll .tag").text == "ok", "the app is not well", console.text())
    console.press("#step-mapping button")
    require("5 fields are mapped" in console.text(), "nothing is mapped", console.text())
    require(console.browser.current_url.endswith("#step-mapping"), "another place", console.browser.current_url)
    console.browser.refresh()
    console.press("#step-key button")
    key = console.find(".made code").text
    require(key in console.find("#step-call pre").text, "no call with the key", console.text())
    require(key in console.find("#step-addresses code").text, "no address with the key", console.text())
    # What is not granted here is refused from now on, writing too.
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    console.cdp("Browser.grantPermissions", permissions=permissions, origin=console.origin)
    console.find("#step-addresses .copy").click()
    console.until("it is copied", lambda: "Copied" in console.find("#step-addresses .copy").text)
    copied = console.browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    require(copied == console.find("#step-addresses code").text, "something else is copied", copied)
    console.fill("#accessToken", console.token("ann"))
    console.press("#step-try button")
    require("givenName" in console.find("#step-try table").text, "no preview", console.text())
    service = console.arguments.service.rsplit("/", 2)[0]
    user = console.login("ann", f"{service}/fresh/{key}")
    require(user["givenName"], "the first login writes nothing", user)
    console.until("the guide is done", lambda: console.open("/console/applications/fresh/setup")
                  or len(console.browser.find_elements(By.CSS_SELECTOR, ".steps .tag.done")) == 5)


def tab_to(console, what, condition):
    for _ in range(200):
        ActionChains(console.browser).send_keys(Keys.TAB).perform()
        if condition(console.browser.switch_to.active_element):
            return
    raise SystemExit(f"console-test: the keyboard does not reach {what}")


def mapping(console):
    """What is mapped by the keyboard alone is shown as it would be written, saved, and what the next login writes."""
    console.open(MAPPING)
    tab_to(console, "the fields", lambda it: it.get_attribute("data-path"))
    keys = ActionChains(console.browser)
    while console.browser.switch_to.active_element.get_attribute("data-path") != "first_name":
        keys.send_keys(Keys.ARROW_DOWN).perform()
    keys.send_keys(Keys.ENTER).perform()
    tab_to(console, "the property", lambda it: it.text == "Write to city")
    keys.send_keys(Keys.ENTER).perform()
    outcome = console.find("#entry-city .outcome")
    console.until("the preview follows", lambda: "Nora" in outcome.text)
    tab_to(console, "the options", lambda it: it.tag_name == "summary")
    keys.send_keys(Keys.ENTER).perform()
    tab_to(console, "the transform", lambda it: it.get_attribute("name") == "transform-city")
    keys.send_keys("trim, uppercase").perform()
    console.until("the preview follows", lambda: "NORA" in outcome.text)
    tab_to(console, "the button", lambda it: it.get_attribute("value") == "save")
    before = console.find("html").id
    keys.send_keys(Keys.ENTER).perform()
    console.until("it is saved", lambda: console.find("html").id != before)
    require("trim, uppercase" in console.find("#entry-city summary").text, "it was not saved", console.text())
    user = console.login("ann")
    require(user["city"] == user["city"].upper() and user["city"], "the login writes something else", user)


def dragged(console):
    """A field is dragged to a property, and what the preview says of a user is what their next login writes."""
    user = console.login("ann")
    console.open(MAPPING)
    chain = ActionChains(console.browser)
    field, row = console.find(".fields [data-path=last_name]"), console.find("#entry-city")
    console.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", row)
    chain.move_to_element(field).click_and_hold().pause(0.2).move_by_offset(12, 12).pause(0.2)
    chain.move_to_element(row).pause(0.2).move_by_offset(3, 3).pause(0.2).release().perform()
    require(console.find("#from-city").get_attribute("value") == "last_name", "it was not dragged", console.text())
    console.find(".try summary").click()
    console.fill("#user", user["objectId"])
    outcome = console.find("#entry-city .outcome")
    console.until("the preview is for her", lambda: "now " + user["city"] in outcome.text)
    shown = outcome.find_element(By.TAG_NAME, "bdi").text
    console.press("button[value=save]")
    console.fill("#from-city", "{first_name} {la")
    offered = [option.get_attribute("value") for option in console.browser.find_elements(By.CSS_SELECTOR, "#paths option")]
    require("{first_name} {last_name}" in offered, "templates are not completed", offered)
    require(shown == "NORDMANN", "another outcome", shown)


def together(console):
    """Two operators edit the same mapping: the second sees what changed, and nothing is lost."""
    console.open(MAPPING)
    first = console.browser.current_window_handle
    console.browser.switch_to.new_window("tab")
    console.open(MAPPING)
    console.fill("#from-city", "short_name")
    console.press("button[value=save]")
    console.browser.close()
    console.browser.switch_to.window(first)
    console.fill("#from-greeting", "Hi {name}")
    console.press("button[value=save]")
    differences = console.find("main .scroll table").text
    require("short_name" in differences and "Hi {name}" in differences, "the differences are not told", console.text())
    require(console.find("#from-greeting").get_attribute("value") == "Hi {name}", "what was typed is gone")
    console.fill("#from-city", "short_name")
    console.press("button[value=save]")
    require(not console.browser.find_elements(By.CSS_SELECTOR, "[role=alert]"), "it is refused again", console.text())
    require(console.find("#from-greeting").get_attribute("value") == "Hi {name}", "it was not saved")


def unfinished(console):
    """A mistake is told at once and at its place, and what was typed stays."""
    console.open(MAPPING)
    shown = console.find("#entry-name .outcome").text
    require(shown, "no preview before the first edit", console.text())
    console.fill("#from-birthday", "picture")
    console.until("the mistake is told", lambda: console.find("#entry-birthday .problem").text)
    require(console.find("#entry-name .outcome").text == shown, "one bad row hides the others' preview", console.text())
    require(console.find("#from-birthday").get_attribute("value") == "picture", "what was typed is gone")
    console.open(MAPPING + "?as=json")
    console.fill("#entries", '[{"from": ')
    console.until("the mistake is told", lambda: "not valid JSON" in console.find("#preview").text)
    require(console.find("#entries").get_attribute("value") == '[{"from": ', "what was typed is gone")


def person(console):
    """Somebody is found, disabled, seen signed out and erased."""
    user = console.login("bob")
    console.open("/console/applications/demo/users")
    console.fill("#q", user["objectId"])
    console.find("#by option[value=objectId]").click()
    console.press(".search button")
    console.press("tbody a")
    console.press("button[value=disable]")
    require(console.find(".tag.DISABLED"), "nobody is disabled", console.text())
    console.press("button[value=signOut]")
    valid = urllib.request.urlopen(
        console.arguments.service + "/users/isvalidusertoken/" + urllib.parse.quote(user["user-token"]), timeout=20)
    require(valid.read() == b"false", "the session goes on")
    console.find("details.erase summary").click()
    console.fill("#confirm", user["objectId"])
    console.press("details.erase button")
    console.open("/console/applications/demo/users/" + user["objectId"])
    require("this user does not exist" in console.text().lower(), "there still is somebody", console.text())


def viewer(console):
    """A viewer sees no button that would be refused."""
    console.sign_in("vera")
    demo = "/console/applications/demo"
    for path in ["/console/applications", f"{demo}/document", f"{demo}/settings", f"{demo}/keys", f"{demo}/properties",
                 f"{demo}/properties/city", f"{demo}/providers/facebook", f"{demo}/setup", MAPPING]:
        console.open(path)
        buttons = [button.text for button in console.browser.find_elements(By.CSS_SELECTOR, "main form[method=post] button")
                   if button.is_displayed()]
        require(set(buttons) <= {"Preview", "Preview the login"}, f"buttons at {path}", buttons)


def scriptless(console):
    """Without JavaScript the console is read and used."""
    console.cdp("Emulation.setScriptExecutionDisabled", value=True)
    console.sign_in("ann")
    console.open(MAPPING)
    console.press("button[value=preview]")
    require(console.browser.find_elements(By.CSS_SELECTOR, ".outcome .tag.written"), "no preview", console.text())
    console.fill("#from-handle", "{short_name}!")
    console.press("button[value=save]")
    require(console.find("#from-handle").get_attribute("value") == "{short_name}!", "it was not saved", console.text())
    console.cdp("Emulation.setScriptExecutionDisabled", value=False)


def outage(console):
    """While the database is away a page says so; it is there again by itself."""
    subprocess.run([console.arguments.postgres, "stop", console.arguments.cluster], check=True, capture_output=True)
    console.open("/console/audit")
    require("database" in console.text().lower(), "it is not said what is wrong", console.text())
    subprocess.run([console.arguments.postgres, "start", console.arguments.cluster, "--fast"], check=True,
                   capture_output=True)

    def again():
        console.open("/console/audit")
        return console.browser.find_elements(By.CSS_SELECTOR, "tbody tr")

    console.until("the page is there again", again)


def doubtful(console):
    """A mapping that would refuse every login is saved with a warning, which names the property."""
    console.open(MAPPING)
    former = console.find("#from-city").get_attribute("value")
    console.fill("#from-city", "first_nme")
    console.press("button[value=save]")
    require("with warnings" in console.find(".notice.warn").text, "it is just saved", console.text())
    outcome = console.find("#entry-city .outcome").text
    require("is not a known field" in outcome and "mapping[" not in console.text(), "another warning", console.text())
    require("is empty" not in outcome, "the card contradicts itself", outcome)
    console.fill("#from-city", former)
    console.press("button[value=save]")
    require(console.find(".notice").text == "Saved.", "the warning stays", console.text())


def logins_of_one(console):
    """The logins of one user are theirs alone: no figures of others are on that page."""
    user = console.login("ann")
    console.open("/console/applications/demo/users/" + user["objectId"])
    console.press("a[href*='/console/logins?']")
    require(console.heading() == "Logins of " + user["name"], "another heading", console.heading())
    require(not console.browser.find_elements(By.CSS_SELECTOR, ".chart"), "a chart of everybody", console.text())


def used_link(console):
    """A link that was used says so, and how to make another one."""
    link = console.command("console", "ann", "--at", console.origin)
    for _ in range(2):
        console.browser.delete_all_cookies()
        console.browser.get(link)
        console.press("form button")
    require("This link was used or has expired." in console.find(".alert").text, "another error", console.text())
    console.sign_in("ann")


def signed_out(console):
    """After signing out the button "back" shows nothing."""
    console.open("/console/operators")
    console.press(".me button")
    require(console.heading() == "Logged out", "still logged in", console.text())
    console.browser.back()
    console.until("a page shows", lambda: console.browser.find_elements(By.TAG_NAME, "h1"))
    require("Tokens and sessions" not in console.text(), "the page is shown once more", console.text())


def keep(console):
    """Writes a page of the pictures."""
    page = os.path.join("..", "console") + ".md"
    lines = ["# Pages of the console", "",
             "Made by `scripts/browser-test PICTURES`, at 1280 by 800, of the demo's application. [The console](" + page + ") says",
             "what each page is for."]
    for name, _ in console.figures:
        title = name.replace("-", " ").capitalize()
        lines += ["", f"## {title}", "", f"![{title}, light]({name}-light.webp) ![{title}, dark]({name}-dark.webp)"]
    pathlib.Path(console.arguments.pictures, "README.md").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    for name in ["--console", "--service", "--control", "--federation", "--postgres", "--cluster", "--axe", "--profile"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--pictures")
    arguments = parser.parse_args()
    console = Console(arguments)
    try:
        look(console, "sign-in", "/console/login")
        first_operator(console)
        console.command("set", "operators/vera", "role=viewer")
        console.sign_in("ann")
        user = console.login("ann")
        for name, path in [
            ("overview", "/console"), ("applications", "/console/applications"),
            ("application", "/console/applications/demo"), ("document", "/console/applications/demo/document"),
            ("settings", "/console/applications/demo/settings"),
            ("second-factor-settings", "/console/applications/demo/settings?subject=secondFactor"),
            ("keys", "/console/applications/demo/keys"), ("properties", "/console/applications/demo/properties"),
            ("property", "/console/applications/demo/properties/city"),
            ("provider", "/console/applications/demo/providers/facebook"),
            ("set-up", "/console/applications/demo/setup"), ("mapping", MAPPING), ("mapping-as-json", MAPPING + "?as=json"),
            ("revision", MAPPING + "/revisions/1"), ("people", "/console/applications/demo/users"),
            ("person", "/console/applications/demo/users/" + user["objectId"]), ("logins", "/console/logins"), ("audit", "/console/audit"),
            ("operators", "/console/operators"), ("operator", "/console/operators/ann"),
            ("sessions", "/console/sessions"),
            ("person-properties", "/console/applications/demo/users/" + user["objectId"] + "/properties"),
            ("new-user", "/console/applications/demo/new-user"), ("import", "/console/applications/demo/import"),
            ("erase-list", "/console/applications/demo/erase-list"),
            ("duplicates", "/console/applications/demo/duplicates?property1=name"),
            ("factors", "/console/factors"), ("service", "/console/service"),
            ("mail", "/console/service/mails/passwordReset/de"),
        ]:
            look(console, name, path)
            print(f"  {name}: {console.figures[-1][1]}", flush=True)
        for step in [setup, mapping, dragged, together, console_overview.overview, console_overview.followed,
                     console_overview.patient, unfinished, doubtful, person, logins_of_one, used_link, *console_people.STEPS, scriptless, outage, viewer,
                     signed_out]:
            step(console)
            print(f"  {step.__doc__.splitlines()[0]}", flush=True)
        if arguments.pictures:
            keep(console)
        complaints = [entry["message"] for entry in console.browser.get_log("browser")
                      if "Content Security Policy" in entry["message"]]
        require(not complaints, "a policy of ours hinders a page of ours", complaints)
    finally:
        console.browser.quit()


main()
