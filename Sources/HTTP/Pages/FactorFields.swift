package import Vocabulary

/// What forms hold that ask for a second factor.
///
/// A form has one set of them; what it sends is told apart by the names of its fields.
package struct FactorFields: Sendable {
    private let language: PageLanguage

    package init(in language: PageLanguage) { self.language = language }

    /// The fields by which a factor is shown.
    ///
    /// - Parameters:
    ///   - factor: Which one is asked for.
    ///   - sentTo: Where a code has just been sent.
    ///   - publicKey: What a browser needs to ask for a passkey.
    ///   - others: What may be shown in its place.
    ///   - button: What the button says that sends the form.
    /// - Returns: HTML; with `publicKey` the page needs `passkeyScript` to be admitted.
    package func asking(
        for factor: Factor,
        sentTo: String?,
        publicKey: JSONObject?,
        others: [Factor],
        button: HTML
    ) -> HTML {
        var text = HTML.hidden("factor", factor.id.description)
        if let publicKey {
            text = text + passkey(publicKey, button: button)
        } else {
            text =
                text + Self.code(label(of: factor, sentTo: sentTo), isNumber: factor.kind != .recoveryCode)
                + "<p><button>\(button)</button></p>\n"
        }
        if factor.kind.isDelivered {
            let wish: PageText = sentTo == nil ? .sendCode(to: factor.hint) : .sendAnotherCode(to: factor.hint)
            text = text + Self.choice("send", factor.id.description, language(wish))
        }
        return text + others.map { Self.choice("choose", $0.id.description, name(of: $0)) }.joined()
    }

    /// A field for a code.
    package static func code(_ label: HTML, isNumber: Bool) -> HTML {
        let keys: HTML = isNumber ? "inputmode=\"numeric\"" : "autocapitalize=\"none\" spellcheck=\"false\""
        return """
            <p><label>\(label)
            <input name="code" \(keys) autocomplete="one-time-code" required></label></p>

            """
    }

    /// A button by which a passkey is made or shown; the page needs `passkeyScript` for it.
    package func passkey(_ options: JSONObject, button: HTML) -> HTML {
        """
        <input type="hidden" name="credential">
        <p><button id="passkey">\(button)</button></p>
        <p role="alert" id="problem" data-text="\(language(.passkeyFailed))"></p>
        <script type="application/json" id="options">\(HTML(json: Array(JSONValue.object(options).text.utf8)))</script>
        <script>\(HTML(markup: Self.passkeyScript))</script>

        """
    }

    /// A button that sends the form without what it asks for.
    package static func choice(_ name: HTML, _ value: String, _ text: HTML) -> HTML {
        """
        <p><button class="other" name="\(name)" value="\(value)" formnovalidate>\(text)</button></p>

        """
    }

    package func problem(_ failure: Failure?) -> HTML {
        failure.map { "<p role=\"alert\">\(language(.failure($0)))</p>\n" } ?? ""
    }

    private func label(of factor: Factor, sentTo: String?) -> HTML {
        switch factor.kind {
        case .totp: language(.codeOfApp)
        case .recoveryCode: language(.recoveryCode)
        case .sms, .email: language(sentTo.map { .codeSentTo($0) } ?? .codeToBeSent)
        case .passkey: ""
        }
    }

    private func name(of factor: Factor) -> HTML {
        let name: PageText =
            switch factor.kind {
            case .totp: .useApp
            case .recoveryCode: .useRecoveryCode
            case .sms: .useSMS(to: factor.hint)
            case .email: .useMail(to: factor.hint)
            case .passkey: .usePasskey
            }
        return language(name) + (factor.label.map { " (\($0))" } ?? "")
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
                const problem = document.getElementById("problem");
                problem.textContent = problem.dataset.text + " " + error.message;
            }
        });
        """
    /// SHA-256 of the script as base64; a test holds it to the script.
    package static let passkeyDigest = "IOgZkt7I2LrJqT/Nq+Qq2cB23vZctwbpf994lgHzCts="
}
