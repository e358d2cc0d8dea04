import Description
import Encodings

/// The former system of an application, which checks the passwords of users who have none here yet.
package struct PasswordSource: Sendable, Hashable {
    package var kind = Kind.off
    /// The address of the former system; nil unless the kind is another than `off`.
    package var url: String?
    /// The application's id in Backendless; nil for another kind.
    package var applicationID: String?
    /// The environment variable with the secret that the former system demands.
    package var secretVariable: PasswordSourceVariable?

    /// The protocol of the former system.
    package enum Kind: String, Sendable, CaseIterable {
        /// No former system is asked.
        case off
        /// The REST protocol of Backendless.
        case backendless
        /// The operator's own endpoint.
        case endpoint
    }

    package init() {}

    package var isOn: Bool { kind != .off }
}

/// The environment variable that holds the secret of an application's password source.
///
/// The form of the name is fixed, for example `SHOP_PASSWORD_SOURCE_SECRET` (`ServiceVariable.isNameForApplications`).
package struct PasswordSourceVariable: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Creates the name of an environment variable; nil unless the text has a form such as
    /// `SHOP_PASSWORD_SOURCE_SECRET`.
    package init?(_ text: String) {
        guard ServiceVariable.isNameForApplications(text, suffix: "_PASSWORD_SOURCE_SECRET") else { return nil }
        self.text = text
    }

    package var description: String { text }
}

extension PasswordSource {
    static let description = ObjectDescription(
        PasswordSource(),
        unknown: "is not a setting of passwordSource",
        [
            Field(
                "kind",
                \.kind,
                .word,
                "kind",
                """
                The protocol of the former system. backendless: the REST login of Backendless. endpoint: an HTTPS \
                endpoint of yours. off: no system is asked.
                """
            ),
            Field(
                "url",
                \.url,
                Codec.text(urlRule).orNull,
                "address",
                """
                The address of the former system, without a query: for backendless the base of its API, such as \
                https://api.backendless.com; for endpoint the whole address. http is for this machine only.
                """
            ),
            Field(
                "applicationId",
                \.applicationID,
                Codec.text(applicationIDRule).orNull,
                "application id",
                "The application's id in Backendless. null for an endpoint."
            ),
            Field(
                "secretVariable",
                \.secretVariable,
                Codec.text(variableRule, { PasswordSourceVariable($0) }, text: \.text).orNull,
                "variable of the secret",
                """
                The environment variable of the service with the secret: the REST API key of Backendless, or the \
                bearer token of the endpoint. The name ends in _PASSWORD_SOURCE_SECRET.
                """
            ),
        ],
        rules: [needsAddress, needsApplication],
        check: { source, place, problems in
            guard source.isOn else { return }
            if source.url == nil { problems.add(place / "url", "must be the address of the former system") }
            if source.secretVariable == nil {
                problems.add(place / "secretVariable", "must name the variable with the secret of the former system")
            }
            switch (source.kind, source.applicationID) {
            case (.backendless, nil):
                problems.add(place / "applicationId", "must be the application's id in Backendless")
            case (.endpoint, .some):
                problems.add(place / "applicationId", "must be null: only Backendless has one")
            default: break
            }
        }
    )

    private static let needsAddress = JSONValue(
        schema: """
            {"if": {"required": ["kind"], "properties": {"kind": {"enum": ["backendless", "endpoint"]}}},
             "then": {"required": ["url", "secretVariable"],
               "properties": {"url": {"type": "string"}, "secretVariable": {"type": "string"}}}}
            """
    )

    private static let needsApplication = JSONValue(
        schema: """
            {"if": {"required": ["kind"], "properties": {"kind": {"const": "backendless"}}},
             "then": {"required": ["applicationId"], "properties": {"applicationId": {"type": "string"}}}}
            """
    )

    private static let urlRule = TextRule(
        "must be a URL like https://api.backendless.com, without a query; http only for localhost, 127.0.0.1 or [::1]",
        pattern: #"^(https://[A-Za-z0-9.:\[\]-]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?)"#
            + #"(/[A-Za-z0-9._~%!$&'()*+,;=:/-]*)?$"#,
        maxBytes: maxURLBytes,
        example: "https://api.backendless.com",
        isValid: isURL
    )

    private static let maxURLBytes: Int64 = 1000

    private static func isURL(_ text: String) -> Bool {
        guard text.utf8.count <= maxURLBytes, let mark = text.firstRange(of: "://") else { return false }
        let rest = text[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        let path = rest.dropFirst(authority.count)
        guard path.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0.isOne(of: "._~%!$&'()*+,;=:/-") }) else {
            return false
        }
        switch text[..<mark.lowerBound] {
        case "https":
            return !authority.isEmpty && authority.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: ".:[]-") }
        case "http":
            return ["localhost", "127.0.0.1", "[::1]"].contains { host in
                guard authority.hasPrefix(host) else { return false }
                let port = authority.dropFirst(host.count)
                return port.isEmpty
                    || port.first == ":" && port.utf8.count > 1 && port.utf8.dropFirst().allSatisfy(\.isASCIIDigit)
            }
        default: return false
        }
    }

    private static let applicationIDRule = TextRule(
        "must be 1 to 100 letters, digits, - or _",
        pattern: "^[A-Za-z0-9_-]{1,100}$",
        example: "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9"
    ) { (1...100).contains($0.utf8.count) && $0.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: "-_") } }

    private static let variableRule = TextRule(
        """
        must be the name of an environment variable that ends in _PASSWORD_SOURCE_SECRET and does not begin with \
        FEDERATION_: at most 63 of A to Z, 0 to 9 and _, beginning with a letter
        """,
        pattern: "^(?!FEDERATION_)[A-Z][A-Z0-9_]*_PASSWORD_SOURCE_SECRET$",
        maxBytes: 63,
        example: "SHOP_PASSWORD_SOURCE_SECRET"
    ) { PasswordSourceVariable($0) != nil }
}
