// What the console has beyond its pages, which do without: how long ago something was, and lists that follow.

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
