// Does something to many people, one after the other, or to those of a list, part by part: says how far it is, can be
// stopped, and says what failed for whom.
// Each is a request of the form as it stands in the page, and what came of it is read from the page that answers.

const form = document.querySelector("form.many, form.list");
const area = form.querySelector(".progress");
const [bar, said, stop, failures] = ["progress", "[role=status]", ".stop", ".failures"].map((part) => area.querySelector(part));
form.querySelector(".everybody")?.classList.add("offered");

const load = async (path, options) => {
  const reply = await fetch(path, options);
  if (reply.redirected) throw new Error("The session has ended. Log in again.");
  const type = reply.headers.get("Content-Type") ?? "";
  if (!type.startsWith("text/html")) return { text: new Blob([await reply.text()]) };
  return { isList: reply.ok, page: new DOMParser().parseFromString(await reply.text(), "text/html") };
};

/** Whom the form is about: those who are chosen, or all that are found, page after page. */
async function* chosen() {
  if (!form.everybody.checked) {
    yield* [...form.querySelectorAll("[name=user]:checked")].map((box) => box.value);
    return;
  }
  // From the first page on: whoever came in behind it meanwhile is found as well.
  const first = new URL(location.href);
  first.searchParams.delete("cursor");
  let next = first.href;
  while (next) {
    const { page, isList } = await load(next);
    const refusal = page.querySelector("main > .alert p")?.textContent;
    if (!isList || refusal) throw new Error(refusal ?? "The list cannot be read.");
    // A cursor is an id, and stays a place in the list when whoever has it is gone.
    const [people, link] = [[...page.querySelectorAll("[name=user]")].map((box) => box.value), page.querySelector("a[rel=next]")];
    next = link && new URL(link.getAttribute("href"), location.href).href;
    yield* people;
  }
}

/** Shows the form that asks for a second factor, and waits for it; nothing when the operator stops instead. */
const askForFactor = (page, stopped) =>
  new Promise((resolve) => {
    const asked = document.importNode(page.querySelector("main form"), true);
    const text = page.querySelector("main p").textContent;
    asked.prepend(Object.assign(document.createElement("p"), { textContent: text }));
    asked.addEventListener("submit", (event) => {
      event.preventDefault();
      asked.remove();
      resolve(new URLSearchParams(new FormData(asked)));
    });
    stopped.addEventListener("abort", () => (asked.remove(), resolve()), { once: true });
    // A form within a form is none.
    form.after(asked);
    (asked.querySelector("[autofocus]") ?? asked.querySelector("button")).focus();
  });

/** Sends the form once; answers null when the operator has stopped instead of showing a factor. */
const send = async (body, stopped) => {
  for (;;) {
    const answer = await load(form.action, { method: "POST", body });
    const { page } = answer;
    if (!page) return answer;
    if (page.querySelector("main [name=factor-code], main [data-passkey]")) {
      body = stopped.aborted ? null : await askForFactor(page, stopped);
      if (!body) return null;
      continue;
    }
    const failed = page.querySelector("td .refused") ?? page.querySelector("main > .alert p");
    if (failed) throw new Error(failed.textContent);
    return answer;
  }
};

const keep = (texts, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(texts, { type: "application/jsonl" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};

const past = { disable: "disabled", enable: "enabled", signOut: "logged out", export: "exported", erase: "erased" };

/** Shows the users as they are now. */
const renew = async () => {
  const { page } = await load(location.href);
  const list = page.querySelector("form.many .scroll") ?? page.querySelector("main > .empty");
  if (list) form.querySelector(".scroll, .empty").replaceWith(list);
  form.dispatchEvent(new Event("console:shown", { bubbles: true }));
};

const run = async (action) => {
  const stopping = new AbortController();
  const all = form.everybody.checked;
  const count = form.querySelectorAll("[name=user]:checked").length;
  const texts = [];
  let [done, failed] = [0, 0];
  const tell = (end) => {
    said.textContent =
      end === "Finished"
        ? `${done} ${done === 1 ? "user is" : "users are"} ${past[action]}.${failed ? ` ${failed} failed.` : ""}`
        : `${end ?? "In progress"}: ${done} done${all ? "" : ` of ${count}`}, ${failed} failed.`;
    if (!all) bar.value = (done + failed) / count;
  };
  failures.replaceChildren();
  area.hidden = bar.hidden = stop.hidden = false;
  if (all) bar.removeAttribute("value");
  stop.onclick = () => stopping.abort();
  const fields = new FormData(form);
  for (const name of ["user", "everybody", "do"]) fields.delete(name);
  fields.set("do", action);
  const buttons = form.querySelectorAll("button[name=do]");
  buttons.forEach((button) => (button.disabled = true));
  tell();
  try {
    for await (const id of chosen()) {
      if (stopping.signal.aborted) break;
      fields.set("user", id);
      try {
        const answer = await send(new URLSearchParams(fields), stopping.signal);
        if (answer === null) break;
        if (answer.text) texts.push(answer.text);
        done += 1;
      } catch (error) {
        failed += 1;
        const item = document.createElement("li");
        item.append(failed > 1000 ? "There are more." : `${id}: ${error.message}`);
        if (failed <= 1001) failures.append(item);
      }
      tell();
    }
    tell(stopping.signal.aborted ? "Stopped" : "Finished");
  } catch (error) {
    // Not of one, but of all that are left.
    tell(`Stopped by an error (${error.message})`);
  }
  stop.hidden = true;
  bar.value = 1;
  form.everybody.checked = false;
  buttons.forEach((button) => (button.disabled = false));
  if (texts.length) keep(texts, "users.jsonl");
  else if (done) await renew().catch(() => {});
};

const words = {
  user: "users", identity: "logins with the provider", nobody: "unknown ids", waiting: "waiting", done: "already done",
  blocked: "blocked",
};

/** Treats a list, from its beginning: the same list again passes over what is done. */
const runList = async (action) => {
  const stopping = new AbortController();
  const [counts, reported, treated] = [{}, [], new Set()];
  const fields = new FormData(form);
  fields.set("do", action);
  const buttons = form.querySelectorAll("button[name=do]");
  const tell = (end, ids) => {
    const sums = Object.entries(counts).map(([outcome, count]) => `${count} ${words[outcome] ?? outcome}`);
    said.textContent = `${end}${ids === undefined ? "" : `, of ${ids} ids`}: ${sums.join(", ") || "nothing"}.`;
  };
  failures.replaceChildren();
  area.hidden = false;
  stop.hidden = false;
  stop.onclick = () => stopping.abort();
  buttons.forEach((button) => (button.disabled = true));
  const doing = action === "erase" ? "Erasing" : "Checking";
  bar.value = 0;
  tell(doing);
  let ids;
  try {
    for (let after = 0; after !== null && !stopping.signal.aborted; ) {
      fields.set("after", after);
      const answer = await send(new URLSearchParams(fields), stopping.signal);
      if (answer === null) break;
      const part = JSON.parse(answer.page.querySelector("script.part").textContent);
      for (const outcome of part.outcomes) {
        counts[outcome.outcome] = (counts[outcome.outcome] ?? 0) + 1;
        reported.push(JSON.stringify(outcome) + "\n");
        treated.add(outcome.line);
        if (!outcome.obstacle) continue;
        const item = document.createElement("li");
        item.append(`Line ${outcome.line}: ${outcome.obstacle}`);
        if (failures.childElementCount < 1000) failures.append(item);
      }
      ids = part.ids;
      after = part.next;
      bar.value = treated.size / Math.max(1, ids);
      tell(doing, ids);
    }
    tell(stopping.signal.aborted ? "Stopped" : action === "erase" ? "Finished" : "Preview", ids);
  } catch (error) {
    tell(`Stopped by an error (${error.message})`, ids);
  }
  stop.hidden = true;
  buttons.forEach((button) => (button.disabled = false));
  if (action === "erase" && reported.length) keep(reported, "erased.jsonl");
};

// One tick and one button would log everybody out.
const questions = {
  disable: "Disable all users of this search, on all pages, and revoke their sessions?",
  signOut: "Revoke all sessions of all users of this search, on all pages?",
};

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (form.classList.contains("list")) return runList(event.submitter.value);
  if (!form.everybody.checked && !form.querySelector("[name=user]:checked")) {
    area.hidden = false;
    bar.hidden = stop.hidden = true;
    said.textContent = "Select users in the list above.";
    return;
  }
  const action = event.submitter.value;
  if (form.everybody.checked && questions[action] && !confirm(questions[action])) return;
  run(action);
});
