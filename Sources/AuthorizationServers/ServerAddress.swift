package import Curl
package import Description
package import Domain
package import Encodings
package import Providers

/// The addresses of authorization servers in settings and presets.
package enum ServerAddress {
    package static let rule = TextRule(
        "must be an https URL, or an http URL of this machine, like https://auth.example.com/token",
        pattern: "^https?://[^#{}\\s]{1,990}$",
        example: "https://auth.example.com/token"
    ) { text in
        text.utf8.count <= 1000 && (try? HTTPURL(text)) != nil
    }

    /// The rule for an address in which `{clientId}` may stand for the client's id.
    package static let ruleWithClient = TextRule(
        rule.text,
        pattern: "^https?://[^#\\s]{1,990}$",
        example: "https://auth.example.com/clients/{clientId}"
    ) { text in rule.allows(text.replacing("{clientId}", with: "1")) }

    /// Describes the member `url` of a document about a request whose address may name the client.
    static func ofClient<Owner>(_ path: any WritableKeyPath<Owner, String> & Sendable) -> Field<Owner> {
        let meaning = "The address; {clientId} stands for the client's id."
        return Field("url", path, .text(ruleWithClient), "URL", meaning, isRequired: true)
    }

    /// Returns an address to call.
    ///
    /// - Throws: `provider_misconfigured` if the text is no address.
    package static func url(_ text: String, of service: UpstreamService) throws(Failure) -> HTTPURL {
        do throws(CurlError) { return try HTTPURL(text) } catch { throw ProviderFault(error, of: service).failure }
    }
}

/// The path of a member in a response: names that dots join, such as `app.client_id`.
package enum MemberPath {
    package static let rule = TextRule(
        "must be the path of a member, like app.client_id",
        pattern: "^[A-Za-z0-9_]{1,64}(\\.[A-Za-z0-9_]{1,64}){0,4}$",
        example: "app.client_id"
    ) { text in text.isJoined(1...5, by: ".") { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") } }

    /// Returns the value at a path; nil if there is none.
    package static func value(at path: String, in object: JSONObject) -> JSONValue? {
        var value: JSONValue? = .object(object)
        for name in path.split(separator: ".") { value = value?.object?[String(name)] }
        return value
    }
}

extension Field {
    /// Describes a member with a text or null, whose title is its name.
    package static func text(
        _ name: String,
        _ path: any WritableKeyPath<Owner, String?> & Sendable,
        _ rule: TextRule,
        _ meaning: String
    ) -> Field {
        Field(name, path, Codec<String>.text(rule).orNull, name, meaning)
    }
}

extension String {
    /// Returns whether the text is words with a separator between them.
    ///
    /// - Parameters:
    ///   - count: The allowed numbers of words.
    ///   - separator: The separator.
    ///   - maxBytes: The maximum size of a word, which is never empty.
    ///   - isAllowed: Returns whether a word may have a byte.
    /// - Returns: Whether the text has this form.
    package func isJoined(
        _ count: ClosedRange<Int>,
        by separator: Unicode.Scalar,
        maxBytes: Int = 64,
        _ isAllowed: (UInt8) -> Bool
    ) -> Bool {
        let words = utf8.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false)
        return count.contains(words.count)
            && words.allSatisfy { (1...maxBytes).contains($0.count) && $0.allSatisfy(isAllowed) }
    }
}
