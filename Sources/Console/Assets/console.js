// What the console has beyond its pages, which do without: how long ago something was, and lists that follow.

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const units = [["day", 86400], ["hour", 3600], ["minute", 60]];

/** Says beside a time how long ago it was. */
const tellAge = (time) => {
  const seconds = (new Date(time.dateTime) - Date.now()) / 1000;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  time.title = relative.format(Math.round(seconds / size), unit);
};
document.querySelectorAll("time[datetime]").forEach(tellAge);

/** Keeps a list up to date while somebody looks at it: the page once more, of which the list is taken. */
const follow = (list) => {
  const refresh = async () => {
    if (document.hidden || list.contains(document.activeElement) && getSelection().toString()) return;
    try {
      const reply = await fetch(location.href);
      if (!reply.ok || reply.redirected) return;
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const news = page.getElementById(list.id);
      if (!news || news.innerHTML === list.dataset.shown) return;
      list.dataset.shown = news.innerHTML;
      list.replaceChildren(...news.childNodes);
      list.querySelectorAll("time[datetime]").forEach(tellAge);
    } catch {
      // The service is away; the next look tells.
    }
  };
  list.dataset.shown = list.innerHTML;
  setInterval(refresh, 3000);
};
document.querySelectorAll("[data-live]").forEach(follow);
