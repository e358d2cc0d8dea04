import Domain
import Encodings

/// A rule for the length, the characters and the form of a text in a profile.
enum TextRule {
    /// One line: names, places, words.
    case line
    /// Several lines: what users write about themselves, and texts of unknown fields.
    case prose
    case email
    /// A web address.
    case url

    /// Selects the rule for a field with this shape.
    init(_ shape: FieldShape) {
        switch shape {
        case .email: self = .email
        case .url: self = .url
        case .text, .digits, .day: self = .line
        case .prose, .unknown, .integer, .boolean, .list, .object, .constants: self = .prose
        }
    }

    /// Returns the reason why the rule refuses a text; nil if it accepts the text.
    func misfit(of text: String) -> Omission.Reason? {
        guard text.utf8.count <= maxBytes else { return .tooLong }
        // The fast path: one pass over the bytes shows that almost all texts need no further check.
        var (isPlain, isAssigning, hasScheme) = (true, false, false)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "="), UInt8(ascii: "%"): isAssigning = true
            case UInt8(ascii: ":"): hasScheme = true
            case 0x20..<0x7F: break
            default: isPlain = false
            }
        }
        guard isPlain || !text.unicodeScalars.contains(where: isForeign) else { return .controlCharacters }
        guard !isAssigning || !CredentialMark.isCarried(by: text) else { return .credential }
        switch self {
        case .line, .prose:
            return hasScheme && !WebAddress.isOne(text) && WebAddress.isMeant(by: text) ? .notAURL : nil
        // Spaces around the address are accepted here: a transform may remove them.
        case .email: return EmailAddress(text.trimmed) == nil ? .notAnEmail : nil
        case .url: return WebAddress.isOne(text) ? nil : .notAURL
        }
    }

    /// The reason why the rule refuses values other than texts and null, such as numbers; nil if it accepts them.
    var misfitOfOthers: Omission.Reason? {
        switch self {
        case .email: .notAnEmail
        case .url: .notAURL
        case .line, .prose: nil
        }
    }

    /// Returns the reason why the name of an object's member is refused; nil if the name is accepted.
    ///
    /// Names are stored together with the values. The name of a credential is refused: pages at Facebook, for example,
    /// have an `access_token`.
    static func misfit(ofKey key: String) -> Omission.Reason? {
        CredentialMark.isName(Array(key.utf8)) ? .credential : line.misfit(of: key)
    }

    private var maxBytes: Int {
        switch self {
        case .line, .email: MappingLimits.lineBytes
        case .url: MappingLimits.addressBytes
        case .prose: MappingLimits.textValueBytes
        }
    }

    private func isForeign(_ scalar: Unicode.Scalar) -> Bool {
        switch (self, scalar) {
        case (.prose, "\n"), (.prose, "\r"), (.prose, "\t"), (.prose, "\u{85}"), (.prose, "\u{2028}"),
            (.prose, "\u{2029}"):
            false
        // Overrides reverse the display of the text after them; right-to-left marks, embeddings and isolates are
        // ordinary.
        case (_, "\u{202D}"), (_, "\u{202E}"): true
        default: scalar.isControl
        }
    }
}

extension MappingTarget {
    /// Returns the reason why this property cannot hold the value; nil if it can.
    func misfit(of value: PropertyValue) -> Omission.Reason? {
        guard !value.isTooLong else { return .tooLong }
        guard case .text(let text) = value else { return nil }
        return switch name {
        // The address receives mails and may be the login name.
        case .email: EmailAddress(text) == nil ? .notAnEmail : nil
        case .name: TextRule.line.misfit(of: text)
        default: TextRule.prose.misfit(of: text)
        }
    }
}

extension PropertyValue {
    /// Whether the value is longer than a property may be.
    ///
    /// For a JSON value, the length of the text that PostgreSQL writes for it counts.
    var isTooLong: Bool {
        switch self {
        case .text(let text): text.utf8.count > MappingLimits.textValueBytes
        case .json(let json): json.storedBytes > MappingLimits.documentBytes
        case .integer, .double, .boolean, .date, .dateTime: false
        }
    }
}
