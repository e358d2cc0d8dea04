const text = id => document.getElementById(id).textContent;
if (window.opener) window.opener.postMessage(text("message"), JSON.parse(text("origin")));
window.close();
