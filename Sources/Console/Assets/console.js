// What the console has beyond its pages, which do without: how long ago something was, lists that follow, and buttons
// that copy.

// What works by scripts alone has its place from the start, so that nothing moves, and is seen from now on.
document.documentElement.classList.add("scripts");

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const units = [["day", 86400], ["hour", 3600], ["minute", 60]];

/** Says beside a time how long ago it was. */
const tellAge = (time) => {
  const seconds = (new Date(time.dateTime) - Date.now()) / 1000;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  time.title = relative.format(Math.round(seconds / size), unit);
};
const tellAges = (part) => part.querySelectorAll("time[datetime]").forEach(tellAge);
tellAges(document);
// Other scripts say so of what they put into the page.
document.addEventListener("console:shown", (event) => tellAges(event.target));

// What was done is said once: not when the page is loaded again, or kept as a bookmark.
if (document.querySelector(".notice")) {
  const address = new URL(location.href);
  address.searchParams.delete("done");
  history.replaceState(null, "", address);
}

/** Copies a text; where the page may not, selects it, so that the keyboard does. */
const copy = async (element) => {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return false;
  }
};
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy");
  if (!button) return;
  const label = button.firstChild;
  label.data = (await copy(button.previousElementSibling)) ? "Copied" : "Selected";
  setTimeout(() => (label.data = "Copy"), 2000);
});

// A key stays in the page: it is put into the addresses that are copied.
document.getElementById("known-key")?.addEventListener("input", ({ target }) => {
  for (const address of document.querySelectorAll(".addresses code")) {
    address.dataset.made ??= address.textContent;
    address.textContent = address.dataset.made.replace("/KEY/", () => `/${target.value.trim() || "KEY"}/`);
  }
});
