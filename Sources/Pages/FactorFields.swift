package import Domain
package import Encodings

/// Creates the fields of forms in which a user enters a second factor.
///
/// A form has the fields for one factor. It may have further buttons, each with a name. By this name, the service knows
/// that the user has requested a code or chosen another factor.
package struct FactorFields: Sendable {
    private let words: PageWords

    package init(_ words: PageWords) { self.words = words }

    /// Returns the fields in which a user enters a second factor.
    ///
    /// - Parameters:
    ///   - factor: The factor that the form asks for.
    ///   - sentTo: The destination of a code that has just been sent.
    ///   - publicKey: The WebAuthn options with which a browser asks for a passkey.
    ///   - others: The factors that the user may use instead.
    ///   - button: The label of the button that sends the form, if the form does more than verify the factor.
    /// - Returns: HTML; with `publicKey`, the page needs the passkey script.
    package func asking(
        for factor: Factor,
        sentTo: String?,
        publicKey: JSONObject?,
        others: [Factor],
        button: HTML? = nil
    ) -> HTML {
        let code: HTML = """
            \(Self.code(label(of: factor, sentTo: sentTo), isNumber: factor.kind != .recoveryCode))\
            <p><button>\(button ?? words(.goOn))</button></p>

            """
        let passkey = publicKey.map { options in
            self.passkey(options, button: button.map { words(.byPasskey, [.button: $0]) } ?? words(.usePasskey))
        }
        let wish =
            sentTo == nil
            ? words(.sendCode, to: factor, .sendCodeTo) : words(.sendAnotherCode, to: factor, .sendAnotherCodeTo)
        return """
            \(HTML.hidden("factor", factor.id.description))\(passkey ?? code)\
            \(Self.choice("send", factor.id.description, wish), if: factor.kind.isDelivered)\
            \(others.map { Self.choice("choose", $0.id.description, name(of: $0)) })
            """
    }

    /// Returns a form field in which a user enters the code of a second factor.
    package static func code(_ label: HTML, isNumber: Bool) -> HTML {
        let keys: HTML = isNumber ? "inputmode=\"numeric\"" : "autocapitalize=\"none\" spellcheck=\"false\""
        return .field("code", label, attributes: "\(keys) autocomplete=\"one-time-code\" required")
    }

    /// Returns a button that creates or uses a passkey; the page needs the passkey script.
    package func passkey(_ options: JSONObject, button: HTML) -> HTML {
        """
        <input type="hidden" name="credential">
        <p><button id="passkey">\(button)</button></p>
        <p role="alert" id="problem" data-text="\(words(.passkeyFailed))"></p>
        <script type="application/json" id="options">\(HTML(json: JSONValue.object(options).bytes))</script>

        """
    }

    /// Returns a button that sends the form even if its required fields are empty.
    package static func choice(_ name: HTML, _ value: String, _ text: HTML) -> HTML {
        """
        <p><button class="other" name="\(name)" value="\(value)" formnovalidate>\(text)</button></p>

        """
    }

    private func label(of factor: Factor, sentTo: String?) -> HTML {
        switch factor.kind {
        case .totp: words(.codeOfApp)
        case .recoveryCode: words(.recoveryCode)
        case .sms, .email: sentTo.map { words(.codeSentTo, [.target: "\($0)"]) } ?? words(.codeToBeSent)
        case .passkey: ""
        }
    }

    private func name(of factor: Factor) -> HTML {
        let name =
            switch factor.kind {
            case .totp: words(.useApp)
            case .recoveryCode: words(.useRecoveryCode)
            case .sms: words(.useSMS, to: factor, .useSMSTo)
            case .email: words(.useMail, to: factor, .useMailTo)
            case .passkey: words(.usePasskey)
            }
        return "\(name)\(factor.label.map { " (\($0))" as HTML })"
    }
}

extension PageWords {
    /// Returns a text about a second factor, with the destination of the factor's codes if there is one to show.
    ///
    /// The destination is a masked e-mail address or phone number. If there is one, the result is the text `addressed`;
    /// otherwise, it is `text`.
    fileprivate func callAsFunction(_ text: PageText, to factor: Factor, _ addressed: PageText) -> HTML {
        factor.hint.map { self(addressed, [.target: "\($0)"]) } ?? self(text)
    }
}
