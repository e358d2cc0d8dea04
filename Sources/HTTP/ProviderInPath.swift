package import Vocabulary

extension ProviderName {
    /// The provider that a path names, in any case, as client SDKs write it.
    ///
    /// - Throws: `not_found` before anything is asked of the database (T-84).
    package init(inPath text: (some StringProtocol)?) throws(Failure) {
        let lowered = text.map { $0.utf8.prefix(33).map(\.asciiLowercased) } ?? []
        guard let name = ProviderName(String(decoding: lowered, as: UTF8.self)), name != .password else {
            throw .noSuchProvider
        }
        self = name
    }
}
