package import Vocabulary

/// What forms hold that ask for a second factor.
///
/// A form has one set of them; what it sends is told apart by the names of its fields.
package enum FactorFields {
    /// The fields by which a factor is shown.
    ///
    /// - Parameters:
    ///   - factor: Which one is asked for.
    ///   - sentTo: Where a code has just been sent.
    ///   - publicKey: What a browser needs to ask for a passkey.
    ///   - others: What may be shown in its place.
    ///   - button: What the button says that sends the form.
    /// - Returns: HTML; with `publicKey` the page needs `passkeyScript` to be admitted.
    package static func asking(
        for factor: Factor,
        sentTo: String?,
        publicKey: JSONObject?,
        others: [Factor],
        button: String
    ) -> String {
        var text = hidden("factor", factor.id.description)
        if let publicKey {
            text += passkey(publicKey, button: button)
        } else {
            text += code(label(of: factor, sentTo: sentTo), isNumber: factor.kind != .recoveryCode)
            text += "<p><button>\(button)</button></p>\n"
        }
        if factor.kind.isDelivered {
            let wish = sentTo == nil ? "Send the code" : "Send another code"
            text += choice("send", factor.id.description, wish + target(of: factor))
        }
        return text + others.map { choice("choose", $0.id.description, name(of: $0)) }.joined()
    }

    /// A field for a code.
    package static func code(_ label: String, isNumber: Bool) -> String {
        """
        <p><label>\(label)<br>
        <input name="code" \(isNumber ? "inputmode=\"numeric\" " : "")autocomplete="one-time-code" required></label></p>

        """
    }

    /// A button by which a passkey is made or shown; the page needs `passkeyScript` for it.
    package static func passkey(_ options: JSONObject, button: String) -> String {
        """
        <input type="hidden" name="credential">
        <p><button id="passkey">\(button)</button></p>
        <p role="alert" id="problem"></p>
        <script type="application/json" id="options">\(WebPage.embedded(Array(JSONValue.object(options).text.utf8)))</script>
        <script>\(passkeyScript)</script>

        """
    }

    package static func hidden(_ name: String, _ value: String) -> String {
        "<input type=\"hidden\" name=\"\(name)\" value=\"\(WebPage.escaped(value))\">\n"
    }

    /// A button that sends the form without what it asks for.
    package static func choice(_ name: String, _ value: String, _ text: String) -> String {
        "<p><button name=\"\(name)\" value=\"\(WebPage.escaped(value))\" formnovalidate>\(text)</button></p>\n"
    }

    package static func problem(_ failure: Failure?) -> String {
        failure.map { "<p role=\"alert\">\(WebPage.escaped($0.message))</p>\n" } ?? ""
    }

    private static func label(of factor: Factor, sentTo: String?) -> String {
        switch factor.kind {
        case .totp: "The code that your authenticator app shows"
        case .recoveryCode: "One of your recovery codes"
        case .sms, .email:
            sentTo.map { "The code that was sent to \(WebPage.escaped($0))" } ?? "The code that you are sent"
        case .passkey: ""
        }
    }

    private static func name(of factor: Factor) -> String {
        let kind =
            switch factor.kind {
            case .totp: "Use your authenticator app"
            case .recoveryCode: "Use a recovery code"
            case .sms: "Use a code by SMS"
            case .email: "Use a code by mail"
            case .passkey: "Use your passkey"
            }
        return kind + (factor.label.map { " (\(WebPage.escaped($0)))" } ?? "") + target(of: factor)
    }

    private static func target(of factor: Factor) -> String {
        factor.hint.map { " to \(WebPage.escaped($0))" } ?? ""
    }

    /// Asks the browser for a passkey when its button sends the form, and sends the form with what it gives, as
    /// RegistrationResponseJSON or AuthenticationResponseJSON has it (WebAuthn level 3 §5.1), which not every browser
    /// writes by itself.
    package static let passkeyScript = """
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
                document.getElementById("problem").textContent = "The passkey was not used: " + error.message;
            }
        });
        """
    /// SHA-256 of the script as base64; a test holds it to the script.
    package static let passkeyDigest = "qwsTR405GAp9dTBR5fx5llGsPBnAjLRJ6RMjFg0fUEY="
}
