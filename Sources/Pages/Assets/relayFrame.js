// The frame of this host in a page of the application. Passes the events of logins to the page, over the channel of
// gapi.iframes (docs/protocols/firebase.md §11). Any page gets the answers for which the SDK waits. Only pages of the
// application's origins get events.
{
    const { key, origins } = JSON.parse(document.getElementById("relay").textContent);
    const stored = "firebase:redirectEvent:" + key;
    const fragment = new URLSearchParams(location.hash.slice(1));
    const query = new URLSearchParams(location.search);
    const given = name => fragment.get(name) ?? query.get(name) ?? "";
    const page = { origin: given("parent"), name: given("pfname"), token: given("rpctoken") };
    const own = { id: given("id"), name: page.name + "/" + given("id") };

    function post(message) {
        window.parent.postMessage("!_" + message, page.origin);
    }

    function send(call, values) {
        post(JSON.stringify({ s: call, f: own.id, r: own.id, t: page.token, c: null, g: false, a: values }));
    }

    function tell(event) {
        send(`${own.name}:${page.name}:authEvent`, [{ type: "authEvent", authEvent: event }]);
    }

    const answers = {
        _g_ping: value => value,
        _g_restyle: () => true,
        webStorageSupport: () => ({ status: "ACK", webStorageSupport: true }),
    };

    function hear(text) {
        let call;
        try { call = JSON.parse(text.startsWith("!_") ? text.slice(2) : text); } catch { return; }
        const prefix = `${page.name}:${own.name}:`;
        if (!call || call.t !== page.token || typeof call.s !== "string" || !call.s.startsWith(prefix)) return;
        const name = call.s.slice(prefix.length);
        if (!Object.hasOwn(answers, name) || !call.c) return;
        send("__cb", [call.c, [answers[name](call.a?.[0]) ?? null]]);
    }

    /** The event that the page of the login has kept for this frame; null without one, or without storage. */
    function takeStored() {
        try {
            const event = JSON.parse(sessionStorage.getItem(stored));
            sessionStorage.removeItem(stored);
            return event;
        } catch {
            return null;
        }
    }

    if (window.parent !== window) {
        const isListed = origins.includes(page.origin);
        window.addEventListener("message", ({ origin, source, data }) => {
            if (source === window.parent && origin === page.origin && typeof data === "string") {
                hear(data);
            } else if (isListed && origin === location.origin && data?.eventType === "sendAuthEvent"
                && data.data?.storageKey === key) {
                tell(data.data.authEvent);
            }
        });
        // From now on, the page sends its messages to this frame.
        post(`{"h":"${escape(own.id)}"}`);
        const none = { type: "unknown", error: { code: "auth/no-auth-event", message: "No login has ended here." } };
        tell((isListed ? takeStored() : null) ?? none);
    }
}
