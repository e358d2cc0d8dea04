package import Domain

/// A text message with a code or a link.
package struct TextMessage: Sendable {
    /// The secret in a text message: a one-time code, or the URL of a link.
    enum Content {
        case code(Secret)
        case link(Secret)
    }

    /// The id of the message, by which a gateway can recognize a repeated message.
    let id: ObjectID
    let application: ApplicationID
    let recipient: PhoneNumber
    let content: Content
    /// The language of the text, as a code of two letters.
    let language: String
    /// The text that the telephone displays.
    let text: Secret

    /// Creates a message with a code.
    ///
    /// - Parameters:
    ///   - code: Six digits.
    ///   - recipient: The number of the recipient.
    ///   - id: The id of the message.
    ///   - application: The application that requests the code.
    ///   - name: The application's display name.
    ///   - host: The host of the page that requests the code, in ASCII. Browsers fill in the code only on this host.
    ///     Nil without a page.
    ///   - locale: The locale of the reader, such as `de` or `de_AT`; nil if unknown.
    package init(
        _ code: Secret,
        to recipient: PhoneNumber,
        id: ObjectID,
        application: ApplicationID,
        name: String,
        host: String?,
        locale: String?
    ) {
        // The code comes first, so that a notification shows it. The last line binds the code to a host
        // (https://wicg.github.io/sms-one-time-codes/).
        let end = host.map { "\n\n@\($0) #\(code.reveal())" } ?? ""
        self.init(
            .code(code),
            to: recipient,
            id: id,
            application: application,
            locale: locale,
            english: "\(code.reveal()) is your code for \(Self.shown(name)). Do not share it with anyone.\(end)",
            german: "\(code.reveal()) ist Ihr Code für \(Self.shown(name)). Geben Sie ihn nicht weiter.\(end)"
        )
    }

    /// Creates a message with the link of an invitation.
    ///
    /// - Parameters:
    ///   - link: The address of the page to which the link leads.
    ///   - recipient: The number of the recipient.
    ///   - id: The id of the message.
    ///   - application: The application that sends the invitation.
    ///   - name: The application's display name.
    ///   - locale: The locale of the reader; nil if unknown.
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
            english: "\(Self.shown(name)) invites you to create an account: \(link.reveal())",
            german: "\(Self.shown(name)) lädt Sie ein, ein Konto zu erstellen: \(link.reveal())"
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

    /// Returns the application's name on one line, shortened so that most messages fit into a single SMS.
    private static func shown(_ name: String) -> String {
        let scalars = name.unicodeScalars.prefix(40).map { $0.properties.generalCategory == .control ? " " : $0 }
        return String(String.UnicodeScalarView(scalars))
    }
}
