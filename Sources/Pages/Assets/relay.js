// Hands the event of a login to the frames of this host in the page that opened this window. With a target, keeps the
// event for the frame in the target page instead. No other origin gets the event.
{
    const { key, event, target } = JSON.parse(document.getElementById("relay").textContent);
    if (target) {
        sessionStorage.setItem("firebase:redirectEvent:" + key, JSON.stringify(event));
        location.replace(target);
    } else if (window.opener) {
        const data = { storageKey: key, authEvent: event };
        const message = { eventType: "sendAuthEvent", eventId: event.eventId, data };
        const { frames } = window.opener;
        for (let index = 0; index < frames.length; index += 1) frames[index].postMessage(message, location.origin);
    }
}
