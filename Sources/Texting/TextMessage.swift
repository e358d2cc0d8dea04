package import Vocabulary

/// A code, or a link, on its way to a telephone.
package struct TextMessage: Sendable {
    /// What the message is for.
    enum Content {
        case code(Secret)
        case link(Secret)
    }

    /// Names the message; a gateway that gets it again need not send it again.
    let id: ObjectID
    let application: ApplicationID
    let recipient: PhoneNumber
    let content: Content
    /// The language of the words, in two letters.
    let language: String
    /// What the telephone shows.
    let text: Secret

    /// Writes a message with a code.
    ///
    /// - Parameters:
    ///   - code: Six digits.
    ///   - recipient: To whom.
    ///   - id: Names the message.
    ///   - application: Which application asks for the code.
    ///   - name: Its name for people.
    ///   - host: The host of the page that asks for the code, in ASCII: browsers fill the code in there and nowhere
    ///     else. Nil where no page asks.
    ///   - locale: What the reader speaks, such as `de` or `de_AT`, if it is known.
    package init(
        _ code: Secret,
        to recipient: PhoneNumber,
        id: ObjectID,
        application: ApplicationID,
        name: String,
        host: String?,
        locale: String?
    ) {
        self.id = id
        self.application = application
        self.recipient = recipient
        content = .code(code)
        language = Self.language(of: locale)
        // The code is in front, where a notification shows it.
        let sentence =
            language == "de"
            ? "\(code.reveal()) ist Ihr Code für \(Self.shown(name)). Geben Sie ihn niemandem weiter."
            : "\(code.reveal()) is your code for \(Self.shown(name)). Do not give it to anybody."
        // The last line of a message binds its code to a host (https://wicg.github.io/sms-one-time-codes/).
        text = Secret(sentence + (host.map { "\n\n@\($0) #\(code.reveal())" } ?? ""))
    }

    /// Writes a message with the link of an invitation.
    ///
    /// - Parameters:
    ///   - link: The address of the page.
    ///   - recipient: To whom.
    ///   - id: Names the message.
    ///   - application: Which application invites.
    ///   - name: Its name for people.
    ///   - locale: What the reader speaks, if it is known.
    package init(
        invitingBy link: Secret,
        to recipient: PhoneNumber,
        id: ObjectID,
        application: ApplicationID,
        name: String,
        locale: String?
    ) {
        self.id = id
        self.application = application
        self.recipient = recipient
        content = .link(link)
        language = Self.language(of: locale)
        let sentence =
            language == "de"
            ? "\(Self.shown(name)) lädt Sie ein, ein Konto zu eröffnen:"
            : "\(Self.shown(name)) invites you to open an account:"
        text = Secret("\(sentence) \(link.reveal())")
    }

    private static func language(of locale: String?) -> String {
        locale.flatMap(LanguageTag.letters) == "de" ? "de" : "en"
    }

    /// A name as one line, cut so that a message is a single SMS in most cases.
    private static func shown(_ name: String) -> String {
        let scalars = name.unicodeScalars.prefix(40).map { $0.properties.generalCategory == .control ? " " : $0 }
        return String(String.UnicodeScalarView(scalars))
    }
}
