const button = document.getElementById("passkey");
const bytes = text => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
const text = buffer => btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const listed = list => (list || []).map(one => ({...one, id: bytes(one.id)}));
button.form.addEventListener("submit", async event => {
    if (event.submitter !== button) return;
    event.preventDefault();
    const publicKey = JSON.parse(document.getElementById("options").textContent);
    publicKey.challenge = bytes(publicKey.challenge);
    publicKey.allowCredentials = listed(publicKey.allowCredentials);
    publicKey.excludeCredentials = listed(publicKey.excludeCredentials);
    if (publicKey.user) publicKey.user.id = bytes(publicKey.user.id);
    try {
        const made = await navigator.credentials[publicKey.user ? "create" : "get"]({publicKey});
        const response = {};
        for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"])
            if (made.response[name]) response[name] = text(made.response[name]);
        if (made.response.getTransports) response.transports = made.response.getTransports();
        button.form.elements.credential.value = JSON.stringify({
            id: made.id, rawId: text(made.rawId), type: made.type, response,
            clientExtensionResults: made.getClientExtensionResults(),
        });
        button.form.submit();
    } catch (error) {
        const problem = document.getElementById("problem");
        problem.textContent = problem.dataset.text + " " + error.message;
    }
});
