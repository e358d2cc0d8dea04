package import Encodings

/// All problems of a JSON document, each with its position in the document.
package struct DocumentProblems: Error, Sendable, CustomStringConvertible {
    /// One problem of a document.
    package struct Problem: Sendable, Equatable {
        /// The position of the problem in the document, such as `/providers/facebook/apps/0/appId`.
        package let pointer: JSONPointer
        /// The message about the problem, for humans.
        ///
        /// It contains no secret.
        package let message: String
        /// The mapping's entry that has the problem, as `{"mapping", "position", "from", "to", "type"}`; nil outside
        /// mappings.
        package let entry: JSONValue?
    }

    package private(set) var problems: [Problem] = []
    /// Whether unknown members of the document are ignored; otherwise each of them is a problem.
    ///
    /// They are ignored in documents from the database, which a later version of the service may have written.
    private let passesOverUnknown: Bool
    /// The positions of the unknown members that were ignored.
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

    /// Adds a problem for an unknown member.
    ///
    /// The message suggests the nearest known name.
    ///
    /// - Parameters:
    ///   - key: The name of the member.
    ///   - pointer: The position of the member.
    ///   - known: The member names that are allowed at this position.
    ///   - text: The problem, which the message states before the suggestion.
    ///   - present: The current name if the member was renamed; nil otherwise.
    package mutating func add(
        unknown key: String,
        at pointer: JSONPointer,
        among known: [String],
        _ text: String = "is not known here",
        now present: String? = nil
    ) {
        guard !passesOverUnknown else { return passedOver.append(pointer) }
        if let present { return add(pointer, "is now called \(present)") }
        // Comparing names takes time, and a client may send thousands of them. So only the first problems get a
        // suggestion.
        let hint = problems.count < Self.maxHints ? NearestName.hint(for: key, among: known) : ""
        add(pointer, "\(text)\(hint); known: \(known.joined(separator: ", "))")
    }

    private static let maxHints = 20

    package mutating func add(_ others: DocumentProblems) {
        problems += others.problems
    }

    /// Returns the problems with positions for a client that sent only a part of the document.
    ///
    /// - Parameters:
    ///   - part: The position of the part in the document, such as `/mapping/facebook`.
    ///   - place: The position of the part in the value that the client sent.
    /// - Returns: The problems. A problem inside the part has its position in the value that the client sent. Every
    ///   other problem has the position of the whole value.
    package func moved(from part: JSONPointer, to place: JSONPointer = JSONPointer()) -> DocumentProblems {
        var moved = DocumentProblems()
        moved.problems = problems.map { problem in
            let pointer = problem.pointer.seen(from: part).map { place / $0 } ?? JSONPointer()
            return Problem(pointer: pointer, message: problem.message, entry: problem.entry)
        }
        return moved
    }

    /// The problems as lines, each in the form `/pointer: message`.
    package var lines: [String] { problems.map(Self.line) }

    package var description: String { lines.joined(separator: "\n") }

    /// Returns a problem as a line.
    ///
    /// The names in the pointer come from the document. Control characters in them are escaped as in JSON, since a
    /// terminal or a log shows the line.
    private static func line(_ problem: Problem) -> String {
        guard !problem.pointer.text.isEmpty else { return problem.message }
        return "\(JSONValue.string(problem.pointer.text).text.dropFirst().dropLast()): \(problem.message)"
    }
}
