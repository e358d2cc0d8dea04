package import Description
package import Domain
import Encodings
package import Providers

/// The scopes of OAuth 2.0 (RFC 6749 §3.3).
package enum Scopes {
    package static let rule = TextRule(
        "must be a scope of 1 to 100 visible ASCII characters without quotes and backslashes",
        pattern: #"^[!#-\[\]-~]{1,100}$"#,
        example: "email"
    ) { text in
        (1...100).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !$0.isOne(of: #""\"#) }
    }

    /// The codec of a list of scopes.
    package static let codec = Codec<[String]>.list(of: .text(rule), max: 50)

    /// Splits a text with scopes, which spaces or commas separate.
    ///
    /// RFC 6749 has spaces. GitHub writes commas.
    package static func list(_ text: String) -> [String] {
        text.utf8.prefix(4096).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }.prefix(100)
            .compactMap { String($0) }.filter { rule.problem($0) == nil }
    }
}

extension DialogParameters {
    /// Checks what a client wants of a dialog of an authorization server.
    ///
    /// - Parameters:
    ///   - needed: The scope that must be among those that the client names; nil for none.
    ///   - title: The provider's displayed name.
    /// - Throws: `malformed_request`.
    package func check(needed: String?, at title: String) throws(Failure) {
        guard configID == nil else {
            throw Failure(.malformedRequest, "configId is not a parameter of \(title)'s dialog.")
        }
        guard let scopes = permissions else { return }
        guard scopes.count <= 100, scopes.allSatisfy({ Scopes.rule.problem($0) == nil }) else {
            throw Failure(.malformedRequest, "permissions must be scopes of \(title).")
        }
        guard let needed, !scopes.contains(where: { $0.hasSameBytes(as: needed) }) else { return }
        throw Failure(.malformedRequest, "permissions must be scopes of \(title), \(needed) among them.")
    }
}
