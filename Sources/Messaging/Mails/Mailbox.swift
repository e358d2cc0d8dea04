/// An e-mail address with an optional display name, as the header of a mail contains it.
///
/// This is the `mailbox` of RFC 5322 §3.4, with non-ASCII letters in names (RFC 6532).
package struct Mailbox: Sendable {
    package let address: MailAddress
    /// The display name, if there is one.
    package let name: String?

    private static let maxNameBytes = 200

    /// Parses `no-reply@shop.example`, `The Shop <no-reply@shop.example>` or `"Shop, The" <no-reply@shop.example>`.
    ///
    /// Comments in parentheses are ignored. A list or a group of mailboxes is refused.
    ///
    /// - Throws: What is wrong with the text.
    package init(_ text: String) throws(MailboxProblem) {
        guard text.utf8.count <= 1000 else { throw .tooLong }
        var parser = MailboxParser(text)
        let (words, written) = try parser.read()
        guard let address = MailAddress(written) else { throw .noAddress }
        let name = words.joined(separator: " ")
        guard name.utf8.count <= Self.maxNameBytes else { throw .tooLong }
        guard !name.unicodeScalars.contains(where: \.isControlOrFormat) else { throw .control }
        self.address = address
        self.name = name.isEmpty ? nil : name
    }
}

/// An error in the text of a mailbox (RFC 5322 §3.4).
///
/// The description is a sentence without a subject, such as "is too long". The caller puts the name of the wrong
/// setting before it. The description contains no part of the text.
package enum MailboxProblem: String, Error, CustomStringConvertible {
    case noAddress = "must be an address, or a name and an address: The Shop <no-reply@shop.example>"
    case several =
        "must be one address; a name with a comma needs quotation marks: \"Shop, The\" <no-reply@shop.example>"
    case group = "must be one address; a name with a colon needs quotation marks: \"The: Shop\" <no-reply@shop.example>"
    case special = "has a sign in the name that needs quotation marks: \"Shop @ Home\" <no-reply@shop.example>"
    case openQuote = "has a quotation mark that is not closed"
    case openComment = "has a bracket that is not closed, or closed and not open"
    case trailingText = "has text behind the address, which ends with >"
    case tooLong = "is too long: a name has at most 200 bytes"
    case control = "has a character in the name that cannot be seen, or a line break"

    package var description: String { rawValue }
}

private struct MailboxParser {
    private let scalars: [Unicode.Scalar]
    private var position = 0

    init(_ text: String) {
        scalars = Array(text.unicodeScalars)
    }

    /// Parses the words of the name, and the address.
    mutating func read() throws(MailboxProblem) -> (words: [String], address: String) {
        var words: [String] = []
        // A word with `@` may be the whole address. It cannot be a part of the name.
        var hasAt = false
        var hasQuotes = false
        try skip()
        while let next = peek {
            switch next {
            case "<":
                guard !hasAt else { throw .special }
                let address = try angleAddress()
                return (words, address)
            case "\"":
                words.append(try quoted())
                hasQuotes = true
            default:
                let word = try atom()
                if word.contains("@") { hasAt = true }
                words.append(word)
            }
            try skip()
        }
        guard words.count == 1, let address = words.first, !hasQuotes else { throw .noAddress }
        return ([], address)
    }

    private var peek: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    /// Parses the address between `<` and `>`; no text may follow.
    private mutating func angleAddress() throws(MailboxProblem) -> String {
        position += 1
        try skip()
        // The address must be a single atom, since parsers disagree on what may stand between the parts of an address
        // (T-39).
        let address = try atom()
        try skip()
        guard peek == ">" else { throw .noAddress }
        position += 1
        try skip()
        switch peek {
        case nil: return address
        case ","?, ";"?: throw .several
        default: throw .trailingText
        }
    }

    /// Parses a run of characters without spaces, quotation marks, comments and angle brackets.
    private mutating func atom() throws(MailboxProblem) -> String {
        var text = String.UnicodeScalarView()
        scan: while let next = peek {
            switch next {
            case " ", "\t", "(", "\"", "<", ">": break scan
            case ",", ";": throw .several
            case ":": throw .group
            case ")": throw .openComment
            case "[", "]", "\\": throw .special
            default: text.append(next)
            }
            position += 1
        }
        guard !text.isEmpty else { throw .noAddress }
        return String(text)
    }

    /// Parses a quoted string, without its quotation marks and escaping backslashes.
    private mutating func quoted() throws(MailboxProblem) -> String {
        position += 1
        var text = String.UnicodeScalarView()
        while let next = peek {
            position += 1
            switch next {
            case "\"": return String(text)
            case "\\":
                guard let meant = peek else { throw .openQuote }
                text.append(meant)
                position += 1
            default: text.append(next)
            }
        }
        throw .openQuote
    }

    /// Skips spaces and comments, which may be nested.
    private mutating func skip() throws(MailboxProblem) {
        var depth = 0
        while let next = peek {
            switch next {
            case " ", "\t": break
            case "(": depth += 1
            case ")" where depth > 0: depth -= 1
            case "\\" where depth > 0: position += 1
            default: if depth == 0 { return }
            }
            position += 1
        }
        guard depth == 0 else { throw .openComment }
    }
}
