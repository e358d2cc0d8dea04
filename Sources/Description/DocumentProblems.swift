package import Encodings

/// All problems of a document, each with its place.
package struct DocumentProblems: Error, Sendable, CustomStringConvertible {
    /// One problem of a document.
    package struct Problem: Sendable, Equatable {
        /// The place, such as `/providers/facebook/apps/0/appId`.
        package let pointer: JSONPointer
        /// The problem, for humans; it contains no secret.
        package let message: String
        /// The mapping's entry with the problem: `{"mapping", "position", "from", "to", "type"}`.
        package let entry: JSONValue?
    }

    package private(set) var problems: [Problem] = []
    /// Whether unknown members are ignored, since stored documents may be of a later version.
    private let passesOverUnknown: Bool
    /// The places of ignored members.
    package private(set) var passedOver: [JSONPointer] = []

    package init(passingOverUnknown: Bool = false) {
        passesOverUnknown = passingOverUnknown
    }

    package init(_ pointer: JSONPointer, _ message: String) {
        self.init()
        add(pointer, message)
    }

    package var isEmpty: Bool { problems.isEmpty }

    package mutating func add(_ pointer: JSONPointer, _ message: String, entry: JSONValue? = nil) {
        problems.append(Problem(pointer: pointer, message: message, entry: entry))
    }

    /// Adds the problem of an unknown member, with the nearest known name.
    ///
    /// - Parameters:
    ///   - key: The name of the member.
    ///   - pointer: The place of the member.
    ///   - known: The names that are allowed there.
    ///   - text: The problem, before the nearest name.
    package mutating func add(
        unknown key: String,
        at pointer: JSONPointer,
        among known: [String],
        _ text: String = "is not known here"
    ) {
        guard !passesOverUnknown else { return passedOver.append(pointer) }
        // Comparing names takes time, and a client may send thousands of them: only the first problems get a hint.
        let hint = problems.count < Self.mostHints ? NearestName.hint(for: key, among: known) : ""
        add(pointer, "\(text)\(hint); known are \(known.joined(separator: ", "))")
    }

    private static let mostHints = 20

    package mutating func add(_ others: DocumentProblems) {
        problems += others.problems
    }

    /// Returns the problems for a client that submitted only a part of the document.
    ///
    /// - Parameters:
    ///   - part: The place of the part in the document: `/mapping/facebook`.
    ///   - place: The place of the part in the submitted value.
    /// - Returns: The problems inside the part, with their places in the submitted value; other problems have the place
    ///   of the whole value.
    package func moved(from part: JSONPointer, to place: JSONPointer = JSONPointer()) -> DocumentProblems {
        var moved = DocumentProblems()
        moved.problems = problems.map { problem in
            let pointer = problem.pointer.seen(from: part).map { place / $0 } ?? JSONPointer()
            return Problem(pointer: pointer, message: problem.message, entry: problem.entry)
        }
        return moved
    }

    /// The problems as lines of `/pointer: message`.
    package var lines: [String] { problems.map(Self.line) }

    package var description: String { lines.joined(separator: "\n") }

    /// Returns a problem as a line.
    ///
    /// Names come from the document, and a terminal or a log shows them: control characters are escaped as in JSON.
    private static func line(_ problem: Problem) -> String {
        guard !problem.pointer.text.isEmpty else { return problem.message }
        return "\(JSONValue.string(problem.pointer.text).text.dropFirst().dropLast()): \(problem.message)"
    }
}
