package import Description
import Domain
package import Encodings
package import Mapping
import Providers

extension DocumentProblems {
    /// Adds the problems of a mapping that is a part of a document.
    ///
    /// `place` is the JSON pointer to the mapping in the document.
    package mutating func add(_ others: [MappingProblem], ofMappingAt place: JSONPointer) {
        for problem in others { add(place / problem.pointer, problem.message, entry: problem.entry?.json) }
    }
}

extension ProviderKinds {
    /// Returns a warning for each field that a valid mapping reads although the provider is not known to have it.
    ///
    /// - Parameters:
    ///   - mappings: The mapping of each provider, as a list or as a dictionary.
    ///   - kind: Returns the provider kind of a provider of the application.
    /// - Returns: A sentence for each field, with its position in an application document.
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
