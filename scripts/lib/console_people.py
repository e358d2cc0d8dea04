"""Steps of console-test.py: properties of people, what is done to many, and second factors of operators."""

import base64
import hashlib
import hmac
import json
import pathlib
import struct
import subprocess
import time
import urllib.parse

from selenium.webdriver.common.by import By

PEOPLE = "/console/applications/demo/users"


def require(condition, what, *seen):
    if not condition:
        raise SystemExit(f"console-test: {what}: {seen}")


def search(console, by, text):
    console.open(f"{PEOPLE}?by={by}&q={urllib.parse.quote(text)}")


def look_here(console, name):
    """The page that is shown has no fault that axe finds, in either theme, and fits every width."""
    for theme in ["light", "dark"]:
        console.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        console.browser.execute_script(console.axe)
        found = console.browser.execute_async_script(
            "const done = arguments[0]; axe.run().then(done, error => done({violations: [String(error)]}));")
        require(not found["violations"], f"axe finds something on {name} ({theme})",
                json.dumps(found["violations"], indent=1)[:4000])
    for width in [320, 768, 1280, 3840]:
        console.cdp("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        wide = console.browser.execute_script("return document.documentElement.scrollWidth")
        require(wide <= width, f"{name} does not fit {width} pixels", wide)
    console.cdp("Emulation.clearDeviceMetricsOverride")


def age_factors(console, operator):
    """What the operator has shown counts no more for what cannot be undone."""
    url = subprocess.run([console.arguments.postgres, "url", console.arguments.cluster], check=True,
                         capture_output=True, text=True).stdout.strip()
    subprocess.run(["psql", "-q", url, "-c", "update federation.operator_tokens set factor_proved = now() - interval "
                    f"'6 minutes' where operator = '{operator}'"], check=True)


def properties(console):
    """A property is edited; what does not fit is told at its field."""
    user = console.login("ann")
    console.open(f"{PEOPLE}/{user['objectId']}/properties")
    console.fill("#property-born", "Bern <b>")
    console.press(".properties button")
    require("Bern <b>" in console.text(), "it is not saved", console.text())
    console.open(f"{PEOPLE}/{user['objectId']}/properties")
    console.browser.execute_script("document.querySelector('#property-birthday').type = 'text'")
    console.fill("#property-birthday", "yesterday")
    console.press(".properties button")
    problem = console.find("#property-birthday-problem")
    require("DATE" in problem.text, "it is not said what is wrong", console.text())
    require(console.find("#property-birthday").get_attribute("value") == "yesterday", "what was typed is gone")


def made(console):
    """A user is made with a password, and what does not fit is told at its field."""
    console.open("/console/applications/demo/new-user")
    console.fill("#property-email", "made@example.com")
    console.browser.execute_script("document.querySelector('#property-birthday').type = 'text'")
    console.fill("#property-birthday", "yesterday")
    console.find("[name=way][value=password]").click()
    console.fill("#password", "correct horse battery")
    console.press(".properties button.primary")
    require("The user was not created" in console.text(), "it is taken", console.text())
    look_here(console, "new-user")
    console.browser.execute_script("document.querySelector('#property-birthday').type = 'text'")
    console.fill("#property-birthday", "1990-05-17")
    console.fill("#password", "correct horse battery")
    console.press(".properties button.primary")
    require("The user is created." in console.text(), "nobody is made", console.text())


def chosen_file(console, name, text):
    """Chooses a file with a text, and waits until it is in the form."""
    path = pathlib.Path(console.arguments.profile, name)
    path.write_text(text)
    console.find("[type=file]").send_keys(str(path.resolve()))
    field = console.find("[type=file]").get_attribute("data-into")
    console.until("the file is in the form", lambda: console.find(f"#{field}").get_attribute("value") == text)


def imported(console):
    """A file is chosen, looked at and imported."""
    console.open("/console/applications/demo/import")
    console.find("#source").send_keys("CSV")
    chosen_file(console, "users.csv", "email,name\nfile@example.com,File\nno address,Nobody\n")
    console.press("button[value=look]")
    require("Nothing was written." in console.text(), "it is not looked at", console.text())
    look_here(console, "import")
    console.press("button[value=write]")
    require("The import is finished." in console.text(), "it is not imported", console.text())
    search(console, "email", "file@example.com")
    require("File" in console.text(), "nobody is imported", console.text())


def listed(console):
    """Those of a list are looked at and erased, part by part, with progress and a report."""
    subject = "80000001"
    url = subprocess.run([console.arguments.postgres, "url", console.arguments.cluster], check=True,
                         capture_output=True, text=True).stdout.strip()
    subprocess.run(["psql", "-q", url, "-c", f"""
        with made as (insert into demo.users (object_id, name) values (gen_random_uuid(), 'Listed') returning object_id)
        insert into demo.identities (provider, provider_app, subject, object_id, created)
        select 'facebook', '1234567890', '{subject}', object_id, now() - interval '1 day' from made"""], check=True)
    ids = "\n".join([subject] + [str(90_000_000 + number) for number in range(450)]) + "\n"
    folder = pathlib.Path(console.arguments.profile, "downloads")
    console.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    console.open("/console/applications/demo/erase-list")
    console.fill("#reason", "list of the test")
    chosen_file(console, "ids.txt", ids)
    console.find("button[value=look]").click()
    console.until("it is looked at", lambda: "Preview, of 451 ids: 1 users, 450 unknown ids." in console.text())
    look_here(console, "erase-list")
    console.find("details.erase summary").click()
    console.find("details.erase button").click()
    console.until("the word is missing", lambda: "Stopped by an error" in console.text())
    console.fill("#confirm", "demo")
    console.find("details.erase button").click()
    console.until("they are erased", lambda: "Finished, of 451 ids: 1 users, 450 unknown ids." in console.text())
    kept = folder / "erased.jsonl"
    console.until("the report is there", kept.exists)
    told = [json.loads(line) for line in kept.read_text().splitlines()]
    require(len(told) == 451 and told[0]["outcome"] == "user" and told[0]["confirmationCode"], "another report", told[:2])


def many(console):
    """Many are disabled, enabled, exported and erased one by one, and a run is stopped."""
    people = [console.login(person) for person in ["ann", "cem"]]
    console.open(PEOPLE)
    console.find("button[value=disable]").click()
    require("Select users in the list above." in console.text(), "nothing is asked for", console.text())
    require(not console.find("progress").is_displayed(), "a bar without progress", console.text())
    for user in people:
        console.find(f"input[value='{user['objectId']}']").click()
    console.find("button[value=disable]").click()
    console.until("both are disabled", lambda: "2 users are disabled." in console.text())
    console.until("the list says so",
                  lambda: len(console.browser.find_elements(By.CSS_SELECTOR, "td .tag.DISABLED")) == 2)
    console.find("[name=everybody]").click()
    console.find("button[value=disable]").click()
    question = console.browser.switch_to.alert
    require("Disable all users of this search" in question.text, "another question", question.text)
    question.dismiss()
    console.browser.execute_script("""
        const fetched = window.fetch;
        window.fetch = async (...call) => {
            const reply = await fetched(...call);
            if (call[1]?.method === "POST") document.querySelector(".stop").click();
            return reply;
        };
    """)
    console.find("button[value=enable]").click()
    console.until("it has stopped", lambda: "Stopped: 1 done" in console.text())
    console.open(PEOPLE)
    console.find("[name=everybody]").click()
    console.find("button[value=enable]").click()
    console.until("all are enabled", lambda: "are enabled." in console.text())
    console.open(PEOPLE)
    require(not console.browser.find_elements(By.CSS_SELECTOR, "td .tag.DISABLED"), "somebody is disabled still", console.text())
    folder = pathlib.Path(console.arguments.profile, "downloads")
    console.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    console.find(f"input[value='{people[0]['objectId']}']").click()
    console.find("button[value=export]").click()
    kept = folder / "users.jsonl"
    console.until("the export is there", kept.exists)
    exported = [json.loads(line) for line in kept.read_text().splitlines()]
    require([one["user"]["objectId"] for one in exported] == [people[0]["objectId"]], "another export", exported)
    search(console, "objectId", people[1]["objectId"])
    console.find("tbody [name=user]").click()
    console.find("details.erase summary").click()
    console.find("details.erase button").click()
    console.until("the word is missing", lambda: "type the application" in console.find(".failures").text)
    console.fill("#confirm", "demo")
    console.find("details.erase button").click()
    console.until("he is erased", lambda: "1 user is erased." in console.text())
    search(console, "objectId", people[1]["objectId"])
    require("No users found" in console.text(), "he is there still", console.text())


def many_scriptless(console):
    """Without JavaScript those who are chosen on a page are treated by one form."""
    user = console.login("ann")
    console.cdp("Emulation.setScriptExecutionDisabled", value=True)
    search(console, "objectId", user["objectId"])
    require(not console.find(".everybody").is_displayed(), "everybody is offered")
    console.find("tbody [name=user]").click()
    console.press("button[value=signOut]")
    require("done" in console.find("td .done").text, "nothing is said", console.text())
    console.cdp("Emulation.setScriptExecutionDisabled", value=False)


def code(secret):
    """The code of an authenticator app now (RFC 6238)."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1).digest()
    offset = digest[19] & 15
    return f"{(struct.unpack('>I', digest[offset:offset + 4])[0] & 0x7fffffff) % 1_000_000:06d}"


def factors(console):
    """An operator enrols an app and a passkey, and shows it, also in the midst of what is done to many."""
    console.command("set", "operators/pat", "role=owner")
    console.sign_in("pat")
    console.cdp("WebAuthn.enable")
    authenticator = console.cdp("WebAuthn.addVirtualAuthenticator", options={
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True,
    })["authenticatorId"]
    console.open("/console/factors")
    console.fill("#label-totp", "telephone")
    console.press("section:has(#label-totp) button")
    address = urllib.parse.urlparse(console.find("figcaption a").get_attribute("href"))
    require(console.browser.find_elements(By.CSS_SELECTOR, ".qr svg path"), "no picture", console.text())
    secret = urllib.parse.parse_qs(address.query)["secret"][0]
    look_here(console, "factor")
    console.fill("#code", "000000")
    console.press("main form[action$=confirm] button")
    require(console.browser.find_elements(By.CSS_SELECTOR, ".alert"), "a wrong code is taken", console.text())
    console.fill("#code", code(secret))
    console.press("main form[action$=confirm] button")
    codes = [item.text for item in console.browser.find_elements(By.CSS_SELECTOR, ".codes code")]
    require(len(codes) == 10, "no recovery codes", console.text())
    console.open("/console/factors")
    require("10 codes left" in console.text() and codes[0] not in console.text(), "another page", console.text())
    console.fill("#label-passkey", "laptop")
    console.press("section:has(#label-passkey) button")
    console.press("button[data-passkey]")
    console.until("the passkey is listed", lambda: "laptop" in console.text())
    look_here(console, "factors")
    # What was shown is too long ago for what cannot be undone.
    age_factors(console, "pat")
    user = console.login("dora")
    search(console, "objectId", user["objectId"])
    console.find("tbody [name=user]").click()
    console.find("details.erase summary").click()
    console.fill("#confirm", "demo")
    console.find("details.erase button").click()
    console.until("the factor is asked for",
                  lambda: console.browser.find_elements(By.CSS_SELECTOR, "main [data-passkey]"))
    console.find("main [data-passkey]").click()
    console.until("she is erased", lambda: "1 user is erased." in console.text())
    age_factors(console, "pat")
    console.open("/console/factors")
    console.find("tbody tr:nth-child(1) summary").click()
    console.press("tbody tr:nth-child(1) button")
    require(console.heading() == "Second factor", "it is removed without a factor", console.text())
    look_here(console, "second-factor")
    console.press("main [data-passkey]")
    require("telephone" not in console.text(), "it is there still", console.text())
    console.cdp("WebAuthn.removeVirtualAuthenticator", authenticatorId=authenticator)
    console.sign_in("ann")


STEPS = [properties, made, imported, listed, many, many_scriptless, factors]
