import Vocabulary

/// What a text of a profile has to be.
enum TextRule {
    /// One line: names, places, words.
    case line
    /// Several lines: what people write about themselves, and whatever is not known.
    case prose
    case email
    /// An address of the web.
    case url

    /// By the kind of its field.
    init(_ shape: FieldShape) {
        switch shape {
        case .email: self = .email
        case .url: self = .url
        case .text, .digits, .day: self = .line
        case .prose, .unknown, .integer, .boolean, .list, .object, .constants: self = .prose
        }
    }

    /// What is wrong with a text; nil when it fits.
    func misfit(of text: String) -> Omission.Reason? {
        guard text.utf8.count <= mostBytes else { return .tooLong }
        // One look at the bytes tells of almost every text that it needs no closer one.
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
        // Spaces around it are for a transform to take away.
        case .email: return EmailAddress(text.trimmed) == nil ? .notAnEmail : nil
        case .url: return WebAddress.isOne(text) ? nil : .notAURL
        }
    }

    /// What is wrong with a value there that is neither a text nor null.
    var misfitOfOthers: Omission.Reason? {
        switch self {
        case .email: .notAnEmail
        case .url: .notAURL
        case .line, .prose: nil
        }
    }

    /// What is wrong with the name of an object's member, which is stored with it: pages at Facebook have an
    /// `access_token`.
    static func misfit(ofKey key: String) -> Omission.Reason? {
        CredentialMark.isName(Array(key.utf8)) ? .credential : line.misfit(of: key)
    }

    private var mostBytes: Int {
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
        // Overrides show what stands behind them in reverse; right-to-left marks, embeddings and isolates are of
        // ordinary writing.
        case (_, "\u{202D}"), (_, "\u{202E}"): true
        default: scalar.isControl
        }
    }
}

extension MappingTarget {
    /// Why the property cannot take a value that an entry has made of what fits; nil when it can.
    func misfit(of value: PropertyValue) -> Omission.Reason? {
        guard !value.isTooLong else { return .tooLong }
        guard case .text(let text) = value else { return nil }
        return switch name {
        // Mails go there, and people log in by it.
        case .email: EmailAddress(text) == nil ? .notAnEmail : nil
        case .name: TextRule.line.misfit(of: text)
        default: TextRule.prose.misfit(of: text)
        }
    }
}

extension PropertyValue {
    /// Whether it is more than a property holds; documents count as PostgreSQL writes them, numbers in full.
    var isTooLong: Bool {
        switch self {
        case .text(let text): text.utf8.count > MappingLimits.textValueBytes
        case .json(let json): json.storedBytes > MappingLimits.documentBytes
        case .integer, .double, .boolean, .date, .dateTime: false
        }
    }
}
