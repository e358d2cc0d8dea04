// Passkeys of operators: a button that makes or shows one, whose outcome goes with the form that it stands in.

/** What the browser gives, into the form, which is then sent. */
const press = async (button) => {
  const form = button.form;
  const said = form.querySelector(".passkey-problem");
  said.textContent = "";
  try {
    const options = JSON.parse(button.dataset.passkey);
    const credential =
      button.dataset.what === "create"
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
    form.querySelector("[name=factor-credential], [name=credential]").value = JSON.stringify(credential.toJSON());
    // The code is another factor's.
    form.querySelectorAll("[name=factor-code]").forEach((code) => (code.required = false));
    form.requestSubmit();
  } catch (error) {
    said.textContent =
      error.name === "NotAllowedError"
        ? "No passkey was used: the request was cancelled, or this device has none. Try again."
        : `The browser reported an error: ${error.message}`;
  }
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-passkey]");
  if (button) press(button);
});

/** Offers the buttons within an element, where the browser has passkeys. */
const offer = (element) => {
  for (const button of element.querySelectorAll("button[data-passkey]")) {
    button.hidden = !window.PublicKeyCredential;
    button.form.querySelector(".passkey-problem").textContent = button.hidden ? "This browser does not support passkeys." : "";
  }
};
offer(document);
// A form comes in later where something is done to many.
new MutationObserver(() => offer(document)).observe(document.querySelector("main"), { childList: true });
