// The editor of mappings beyond its form, which does without: a preview at each keystroke, fields that are dragged or
// picked, and completion inside templates.

const form = document.querySelector("form.editor");
const summary = document.getElementById("preview");
const status = document.getElementById("picked");
const rows = () => [...form.querySelectorAll(".entry")];

/** Takes from a reply what each row would do, and the options of rows that have got an entry. */
const renew = (page) => {
  if (!page.querySelector("form.editor")) {
    // Some other page: a refusal, or the way to log in or to a second factor. The rows stay as they are.
    const alert = page.querySelector("main > .alert");
    summary.replaceChildren(alert ?? "The preview failed. Reload the page and try again.");
    return;
  }
  for (const row of rows()) {
    const news = page.getElementById(row.id);
    row.querySelector(".outcome").replaceChildren(...(news?.querySelector(".outcome").childNodes ?? []));
    const [there, fresh] = [row.querySelector("details"), news?.querySelector("details")];
    if (!there && fresh) row.querySelector("input").after(fresh);
    else if (there && !fresh) there.remove();
    else there?.querySelector("summary").replaceChildren(...fresh.querySelector("summary").childNodes);
  }
  summary.replaceChildren(...(page.getElementById("preview")?.childNodes ?? []));
};

let timer, question;

/** Asks for what the mapping would write, once nobody has typed for a moment; the last question wins. */
const ask = async () => {
  // A token is shown to the provider when somebody presses the button, not at each keystroke.
  if (form.elements.accessToken.value) return;
  question?.abort();
  question = new AbortController();
  const body = new URLSearchParams(new FormData(form));
  body.set("do", "preview");
  try {
    const reply = await fetch(form.getAttribute("action"), { method: "POST", body, signal: question.signal });
    renew(new DOMParser().parseFromString(await reply.text(), "text/html"));
  } catch (error) {
    if (error.name !== "AbortError") summary.textContent = "The service does not respond. Your entries are kept.";
  }
};

const changed = () => {
  clearTimeout(timer);
  timer = setTimeout(ask, 300);
};
form.addEventListener("input", changed);

/** Puts a field into a row. */
const place = (path, row) => {
  const input = row.querySelector("input");
  input.value = path;
  input.focus();
  pick(null);
  status.textContent = `${path} is mapped to ${row.id.slice("entry-".length)}.`;
  changed();
};

let picked = null;

/** Picks a field up, or lays it down; while one is picked, each row has a button to put it there. */
const pick = (button) => {
  picked = picked === button ? null : button;
  form.querySelectorAll(".fields [role=button]").forEach((other) => other.setAttribute("aria-pressed", other === picked));
  form.classList.toggle("picking", picked !== null);
  status.textContent = picked ? `${picked.dataset.path} is selected. Now select the property to write.` : "";
  if (!picked) return;
  form.querySelector(".entry .put").focus();
};

// One stop of the tabulator for all fields; arrows lead from one to the other.
const fields = form.querySelector(".fields");
fields?.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const buttons = [...fields.querySelectorAll("[role=button]")];
  const next = buttons[buttons.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

for (const item of form.querySelectorAll(".fields li")) {
  // Firefox drags no button, so it is one by its role.
  const button = document.createElement("div");
  button.setAttribute("role", "button");
  button.draggable = true;
  button.tabIndex = item.previousElementSibling ? -1 : 0;
  button.dataset.path = item.dataset.path;
  button.setAttribute("aria-pressed", "false");
  button.append(...item.childNodes);
  item.append(button);
  button.addEventListener("click", () => pick(button));
  button.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    pick(button);
  });
  button.addEventListener("dragstart", (event) => {
    event.dataTransfer.setData("text/plain", button.dataset.path);
    event.dataTransfer.effectAllowed = "copy";
  });
}

for (const row of rows()) {
  const put = document.createElement("button");
  put.type = "button";
  put.className = "put";
  put.textContent = `Write to ${row.id.slice("entry-".length)}`;
  put.addEventListener("click", () => picked && place(picked.dataset.path, row));
  row.prepend(put);
  row.addEventListener("dragover", (event) => {
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    row.classList.add("over");
  });
  row.addEventListener("dragleave", () => row.classList.remove("over"));
  row.addEventListener("drop", (event) => {
    event.preventDefault();
    row.classList.remove("over");
    const path = event.dataTransfer.getData("text/plain");
    if (form.querySelector(`.fields [data-path="${CSS.escape(path)}"]`)) place(path, row);
  });
}
form.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && picked) {
    const former = picked;
    pick(null);
    former.focus();
  }
});

/** Inside the braces of a template, what is offered is the template with each field in that place. */
const list = document.getElementById("paths");
if (list) {
  const paths = [...list.options].map((option) => option.value);
  const offer = (input) => {
    const before = input.value.slice(0, input.selectionStart);
    const open = before.lastIndexOf("{");
    const inside = open > before.lastIndexOf("}") && input.selectionStart === input.value.length;
    const values = inside ? paths.map((path) => `${before.slice(0, open)}{${path}}`) : paths;
    if (list.options[0]?.value === values[0]) return;
    list.replaceChildren(...values.map((value) => Object.assign(document.createElement("option"), { value })));
  };
  form.addEventListener("input", (event) => event.target.list === list && offer(event.target));
  form.addEventListener("focusin", (event) => event.target.list === list && offer(event.target));
}
