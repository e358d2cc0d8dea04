import Domain
import Encodings

/// A composed mail in the queue, with its time of expiry.
struct QueuedMail {
    let mail: ComposedMail
    /// The time after which the mail is useless to its reader, in seconds since 1970.
    let usefulUntil: Int64
}

// The text form of a mail, which is encrypted before it is stored.
extension QueuedMail {
    private enum Key {
        static let (sender, recipient, message, until) = ("from", "to", "message", "until")
    }

    var text: Secret {
        Secret(
            JSONValue.object([
                Key.sender: .string(mail.sender.text), Key.recipient: .string(mail.recipient.text),
                Key.message: .string(mail.message), Key.until: .integer(usefulUntil),
            ]).text
        )
    }

    /// Parses the JSON text in which the queue stores a mail; nil if another version of the service wrote it in another
    /// form.
    init?(_ text: Secret) {
        guard let object = try? JSONParser.parse(text.reveal(), limits: .stored).object,
            let sender = object[Key.sender]?.string.flatMap(MailAddress.init),
            let recipient = object[Key.recipient]?.string.flatMap(MailAddress.init),
            let message = object[Key.message]?.string, let until = object[Key.until]?.integer
        else { return nil }
        mail = ComposedMail(sender: sender, recipient: recipient, message: message)
        usefulUntil = until
    }
}
