package import Domain

/// All provider kinds that the service supports.
package struct ProviderKinds: Sendable {
    package let all: [any ProviderKind]

    package init(_ all: [any ProviderKind]) {
        self.all = all
    }

    /// Returns the kind with a name; nil if no kind has this name.
    package func named(_ name: ProviderName) -> (any ProviderKind)? {
        all.first { $0.name == name }
    }

    package var names: [ProviderName] { all.map(\.name) }

    /// Returns the failure for a name that neither a kind nor a provider of the application has.
    package func unknown(_ name: ProviderName, beside names: some Sequence<ProviderName>) -> Failure {
        let known = Set(self.names).union(names).map(\.text).sorted().joined(separator: ", ")
        return Failure(.notFound, "This login provider does not exist. Known providers: \(known).")
    }
}
