import Description
import Encodings

extension TextRule {
    /// The rule for origins: scheme, host and port in lower case without a path, as browsers send them.
    static let origin = TextRule(
        "must be an origin like https://app.example.com, in lower case",
        pattern: #"^https?://[a-z0-9.:\[\]-]+$"#,
        maxBytes: 253,
        example: "https://app.example.com",
        isValid: isOrigin
    )

    /// The rule for host names: labels of letters, digits and inner hyphens, separated by dots (RFC 1123 §2.1).
    ///
    /// A label has at most 63 bytes.
    static let hostName = hostName("must be a DNS name in lower case without port, like users.example.com")

    /// Returns the rule for host names, with the given message for texts that break the rule.
    static func hostName(_ text: String, example: String = "users.example.com") -> TextRule {
        TextRule(
            text,
            pattern: #"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$"#,
            maxBytes: 253,
            example: example,
            isValid: isHostName
        )
    }

    /// The rule for names of roles.
    ///
    /// Names have only plain characters, since they are parts of paths.
    static let role = TextRule(
        "must be 1 to 100 letters, digits, -, _ or ., beginning with a letter or digit",
        schema: [
            "maxLength": .integer(100), "pattern": .string("^[A-Za-z0-9][A-Za-z0-9._-]*$"),
        ],
        example: "Editor"
    ) { name in
        guard (1...100).contains(name.utf8.count), let first = name.utf8.first, first.isASCIIAlphanumeric,
            name.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0.isOne(of: "-_.") })
        else { return "must be 1 to 100 letters, digits, -, _ or ., beginning with a letter or digit" }
        return SystemRole(name: name) == nil ? nil : "is a role of the system"
    }

    static func isOrigin(_ text: String) -> Bool {
        guard text.utf8.count <= 253 else { return false }
        let schemes = ["https://", "http://"]
        guard let scheme = schemes.first(where: { text.utf8.starts(with: $0.utf8) }) else { return false }
        let host = text.utf8.dropFirst(scheme.utf8.count)
        return !host.isEmpty && host.allSatisfy { isLowerAlphanumeric($0) || $0.isOne(of: ".-:[]") }
    }

    private static func isHostName(_ text: String) -> Bool {
        let labels = text.utf8.prefix(254).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let hyphen = UInt8(ascii: "-")
        return text.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
                    && label.allSatisfy { isLowerAlphanumeric($0) || $0 == hyphen }
            }
    }

    private static func isLowerAlphanumeric(_ byte: UInt8) -> Bool { byte.isASCIIDigit || byte.isASCIILowercase }
}

extension PropertyName {
    static let rule = TextRule(
        "must be the name of a property",
        schema: ["$ref": .string("#/$defs/propertyName")]
    ) { PropertyName($0) == nil ? "must be the name of a property" : nil }
}

extension ProviderName {
    /// The rule for names of providers.
    ///
    /// The name `password` is not allowed.
    static let rule = TextRule(
        "must be the name of a provider",
        schema: [
            "pattern": .string("^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$"),
            "not": .object(["const": .string("password")]),
        ],
        example: "staff"
    ) { text in
        guard let name = ProviderName(text), name != .password else { return "must be the name of a provider" }
        return nil
    }
}
