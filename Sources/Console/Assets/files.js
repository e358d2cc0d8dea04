// Puts the text of a file into a field of its form, where it can be looked at, and says when it is too large for one.

const most = 2_900_000;

for (const input of document.querySelectorAll("input[type=file][data-into]")) {
  const said = input.form.querySelector(".file-said");
  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (!file) return;
    // A form sends some characters as three.
    const text = file.size > most ? null : await file.text();
    const isSmall = text !== null && new URLSearchParams([["", text]]).toString().length <= most;
    said.textContent = isSmall ? "" : "The file is too large for this form. Split it, or use the command below.";
    if (isSmall) input.form.elements[input.dataset.into].value = text;
  });
}
