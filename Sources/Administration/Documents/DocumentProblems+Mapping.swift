package import Mapping
package import Vocabulary

extension DocumentProblems {
    /// Adds the problems of a mapping that stands at a place of the document.
    package mutating func add(_ others: [MappingProblem], ofMappingAt place: JSONPointer) {
        for problem in others { add(place / problem.pointer, problem.message, entry: problem.entry?.json) }
    }
}
