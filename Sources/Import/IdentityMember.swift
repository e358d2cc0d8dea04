package import Domain

/// A text such as `facebook=fbId,app=1234567890`: a provider, the member of a record that holds the user's id at the
/// provider, and optionally the app to which the id belongs.
package struct IdentityMember: Sendable {
    package let provider: ProviderName
    package let member: String
    package let app: ProviderAppID?

    /// Reads the text; nil if it has another form.
    package init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, let provider = ProviderName(parts[0]) else { return nil }
        let ends = parts[1].ranges(of: ",app=")
        let app = ends.last.map { String(parts[1][$0.upperBound...]) }
        let member = String(parts[1][..<(ends.last?.lowerBound ?? parts[1].endIndex)])
        guard !member.isEmpty, app == nil || app.flatMap(ProviderAppID.init) != nil else { return nil }
        self.provider = provider
        self.member = member
        self.app = app.flatMap(ProviderAppID.init)
    }
}
