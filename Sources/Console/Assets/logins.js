// Follows the log of logins while somebody looks at it: asks for what came since, in rows that the service has made.

const usual = 3000;
const longest = 60000;
const mostRows = 200;

const follow = (list) => {
  const status = list.querySelector("[role=status]");
  let pause = usual;
  let timer;
  let isAsking = false;

  /** Puts new rows above those that are there, of which the oldest go. */
  const show = (news) => {
    list.dataset.more = news.dataset.more;
    const rows = list.querySelector("tbody");
    if (rows && !("gap" in news.dataset)) {
      rows.prepend(...news.querySelector("tbody").children);
      while (rows.children.length > mostRows) rows.lastElementChild.remove();
    } else {
      list.firstElementChild.replaceWith(news.firstElementChild);
    }
    status.textContent = "gap" in news.dataset ? "Too many new logins: only the newest are shown." : "";
    list.dispatchEvent(new Event("console:shown", { bubbles: true }));
  };

  const ask = async () => {
    if (document.hidden || isAsking) return;
    isAsking = true;
    try {
      const reply = await fetch(list.dataset.more);
      if (reply.redirected) {
        status.textContent = "Reload the page to log in or to enter your second factor.";
        return;
      }
      if (!reply.ok) throw new Error(reply.headers.get("Retry-After"));
      if (reply.status !== 204) {
        show(new DOMParser().parseFromString(await reply.text(), "text/html").querySelector(".live"));
      } else if (pause > usual) {
        status.textContent = "";
      }
      pause = usual;
    } catch (error) {
      // Who is refused or meets nobody comes back more and more rarely, and not before it was told to.
      pause = Math.min(longest, Math.max(2 * pause, 1000 * (Number(error.message) || 0)));
      status.textContent = `New logins cannot be loaded. Next attempt in ${Math.round(pause / 1000)} seconds.`;
    } finally {
      isAsking = false;
    }
    wait();
  };

  // Not all at the same moment, should many have begun at one.
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, pause * (0.9 + 0.2 * Math.random()));
  };

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden) ask();
  });
  wait();
};
document.querySelectorAll(".live").forEach(follow);
