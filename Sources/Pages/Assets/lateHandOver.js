const text = id => document.getElementById(id).textContent;
document.getElementById("done").onclick = () => {
    if (window.opener) window.opener.postMessage(text("message"), JSON.parse(text("origin")));
    window.close();
};
