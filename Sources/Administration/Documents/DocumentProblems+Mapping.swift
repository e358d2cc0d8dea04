package import Mapping
import Providers
package import Vocabulary

extension DocumentProblems {
    /// Adds the problems of a mapping that stands at a place of the document.
    package mutating func add(_ others: [MappingProblem], ofMappingAt place: JSONPointer) {
        for problem in others { add(place / problem.pointer, problem.message, entry: problem.entry?.json) }
    }
}

extension ProviderKinds {
    /// What an operator should know about mappings that can be saved: fields that a provider is not known to have, each
    /// with its place in an application document.
    ///
    /// - Parameters:
    ///   - mappings: The mapping for each provider, in either form.
    ///   - kind: Of which kind a provider is that the application has.
    /// - Returns: A sentence for each.
    func mappingWarnings(
        _ mappings: [ProviderName: JSONValue],
        _ kind: (ProviderName) -> ProviderName?
    ) -> [String] {
        mappings.sorted { $0.key.text < $1.key.text }.flatMap { name, mapping -> [String] in
            guard let kind = named(kind(name) ?? name) else { return [] }
            var warnings = DocumentProblems()
            let place = JSONPointer() / "mapping" / name.text
            warnings.add(MappingCheck.warnings(of: mapping, fields: kind.fields), ofMappingAt: place)
            return warnings.lines
        }
    }
}
