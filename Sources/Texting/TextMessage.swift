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
        // The code is in front, where a notification shows it. The last line of a message binds its code to a host
        // (https://wicg.github.io/sms-one-time-codes/).
        let end = host.map { "\n\n@\($0) #\(code.reveal())" } ?? ""
        self.init(
            .code(code),
            to: recipient,
            id: id,
            application: application,
            locale: locale,
            english: "\(code.reveal()) is your code for \(Self.shown(name)). Do not give it to anybody.\(end)",
            german: "\(code.reveal()) ist Ihr Code für \(Self.shown(name)). Geben Sie ihn niemandem weiter.\(end)"
        )
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
        self.init(
            .link(link),
            to: recipient,
            id: id,
            application: application,
            locale: locale,
            english: "\(Self.shown(name)) invites you to open an account: \(link.reveal())",
            german: "\(Self.shown(name)) lädt Sie ein, ein Konto zu eröffnen: \(link.reveal())"
        )
    }

    private init(
        _ content: Content,
        to recipient: PhoneNumber,
        id: ObjectID,
        application: ApplicationID,
        locale: String?,
        english: String,
        german: String
    ) {
        self.id = id
        self.application = application
        self.recipient = recipient
        self.content = content
        language = locale.flatMap(LanguageTag.letters) == "de" ? "de" : "en"
        text = Secret(language == "de" ? german : english)
    }

    /// A name as one line, cut so that a message is a single SMS in most cases.
    private static func shown(_ name: String) -> String {
        let scalars = name.unicodeScalars.prefix(40).map { $0.properties.generalCategory == .control ? " " : $0 }
        return String(String.UnicodeScalarView(scalars))
    }
}
