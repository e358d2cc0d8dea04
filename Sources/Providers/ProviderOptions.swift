package import Description
package import Encodings

/// The options of a provider, as its kind describes them.
///
/// They are members of the provider in an application document. The database stores them in the same form.
package protocol ProviderOptions: Sendable {
    /// Describes the options, except the secret ones.
    static var description: ObjectDescription<Self> { get }
}

extension ProviderOptions {
    /// Reads stored options; an absent option has its default.
    ///
    /// Secret options are ignored, and options that only a later version knows.
    ///
    /// - Throws: `DocumentProblems` with every problem, by its position in the options.
    package init(_ document: JSONValue) throws(DocumentProblems) {
        self = try Self.description.read(stored: document)
    }
}

/// The options of a kind that has none.
package struct NoOptions: ProviderOptions {
    package static let description = ObjectDescription(NoOptions(), unknown: "is not an option", sections: [])
}
