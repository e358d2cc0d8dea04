package import Domain
package import Providers

/// A provider kind whose providers are clients of authorization servers, with presets of known servers.
package protocol ServerKind: UpstreamKind {
    associatedtype Preset: PresetDocument

    /// The presets that the service ships, and the operator's own.
    var known: Presets<Preset> { get }
    /// The variable that names the file with the operator's own presets.
    static var ownPresets: Variable<Presets<Preset>> { get }
}

extension ServerKind {
    package var subjects: SubjectRule { SubjectRule(isGlobal: true) }
    package var appTerms: AppTerms { .client }
    package var dialogReturn: EnteredAddress? {
        EnteredAddress(place: "The client", title: "Redirect URI", name: "authorize")
    }
    package var presets: [PresetGuide] { known.guides }

    package static var variables: [any DeclaredVariable] { ServerVariables.all + [ownPresets] }
}
