/// Everything that is wrong with a document, each with its place.
package struct DocumentProblems: Error, CustomStringConvertible {
    /// A place like `providers.facebook.apps[0].appId` and what is wrong there.
    package struct Problem: Sendable, Equatable {
        package let place: String
        package let text: String
    }

    package private(set) var problems: [Problem] = []

    package init() {}

    package var isEmpty: Bool { problems.isEmpty }

    package mutating func add(_ place: String, _ text: String) {
        problems.append(Problem(place: place, text: text))
    }

    package mutating func add(_ others: DocumentProblems) {
        problems += others.problems
    }

    /// Hands a value on, or notes what it should have been.
    mutating func read<Value>(_ value: Value?, _ expected: String, _ place: String, _ take: (Value) -> Void) {
        if let value { take(value) } else { add(place, "must be \(expected)") }
    }

    package var description: String {
        problems.map { $0.place.isEmpty ? $0.text : "\($0.place): \($0.text)" }.joined(separator: "\n")
    }
}
