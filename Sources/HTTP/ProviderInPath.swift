package import Description
package import Domain
import Encodings

extension ProviderName {
    /// Reads a provider's name from a path.
    ///
    /// The case of letters does not matter, since some client SDKs write upper case.
    ///
    /// - Throws: `not_found` if the text cannot be a provider's name, so that no database query is needed (T-84).
    package init(inPath text: (some StringProtocol)?) throws(Failure) {
        let lowered = text.map { $0.utf8.prefix(33).map(\.asciiLowercased) } ?? []
        guard let name = ProviderName(String(decoding: lowered, as: UTF8.self)), name != .password else {
            throw .noSuchProvider
        }
        self = name
    }
}

extension Parameter {
    package static let provider = Parameter(
        "provider",
        in: .path,
        .providerInPath.examples("facebook"),
        "The name of the provider, in upper or lower case."
    )
}

extension Schema {
    package static let providerInPath = string.pattern("^[A-Za-z][A-Za-z0-9-]{0,31}$")
}
