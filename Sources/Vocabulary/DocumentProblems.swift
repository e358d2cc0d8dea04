/// Everything that is wrong with a document, each with its place.
package struct DocumentProblems: Error, Sendable, CustomStringConvertible {
    /// One thing that is wrong.
    package struct Problem: Sendable, Equatable {
        /// Where: `/providers/facebook/apps/0/appId`.
        package let pointer: JSONPointer
        /// What is wrong there, for people; holds no secret.
        package let message: String
        /// The entry of a mapping that is at fault: `{"mapping", "position", "from", "to", "type"}`.
        package let entry: JSONValue?
    }

    package private(set) var problems: [Problem] = []
    /// Whether members that are not known are passed over: what is stored may be of a later version.
    private let passesOverUnknown: Bool
    /// Where those stand.
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

    /// Adds that a member is not known, with the nearest one that is.
    ///
    /// - Parameters:
    ///   - key: The name of the member.
    ///   - pointer: Where it stands.
    ///   - known: The names that may stand there.
    ///   - text: What is wrong with the name, in front of the nearest one.
    package mutating func add(
        unknown key: String,
        at pointer: JSONPointer,
        among known: [String],
        _ text: String = "is not known here"
    ) {
        guard !passesOverUnknown else { return passedOver.append(pointer) }
        // Comparing names takes time, and a client may send thousands of them: the first problems alone get a hint.
        let hint = problems.count < Self.mostHints ? NearestName.hint(for: key, among: known) : ""
        add(pointer, "\(text)\(hint); known are \(known.joined(separator: ", "))")
    }

    private static let mostHints = 20

    package mutating func add(_ others: DocumentProblems) {
        problems += others.problems
    }

    /// The same problems for somebody who submitted only a part of the document.
    ///
    /// - Parameters:
    ///   - part: Where the part stands in the document: `/mapping/facebook`.
    ///   - place: Where it stands in what was submitted.
    /// - Returns: The problems inside the part by their places in what was submitted; those elsewhere are problems of
    ///   all of it.
    package func moved(from part: JSONPointer, to place: JSONPointer = JSONPointer()) -> DocumentProblems {
        var moved = DocumentProblems()
        moved.problems = problems.map { problem in
            let pointer = problem.pointer.seen(from: part).map { place / $0 } ?? JSONPointer()
            return Problem(pointer: pointer, message: problem.message, entry: problem.entry)
        }
        return moved
    }

    /// `document_invalid` with the first problem and how many there are; `problems` has all:
    /// `{"pointer", "message", "entry"?}`.
    package var failure: Failure {
        let first = problems.first.map(Self.line) ?? "The document cannot be used."
        let others = problems.count > 1 ? " (the first of \(problems.count) problems)" : ""
        let list = problems.map { problem in
            var object: JSONObject = [
                "pointer": .string(problem.pointer.text), "message": .string(problem.message),
            ]
            if let entry = problem.entry { object.append("entry", entry) }
            return JSONValue.object(object)
        }
        return Failure(.documentInvalid, first + others, details: ["problems": .array(list)])
    }

    /// A line for each: `/pointer: message`.
    package var lines: [String] { problems.map(Self.line) }

    package var description: String { lines.joined(separator: "\n") }

    /// Names come from the document, and a terminal or a log shows them: control characters are escaped as in JSON.
    private static func line(_ problem: Problem) -> String {
        guard !problem.pointer.text.isEmpty else { return problem.message }
        return "\(JSONValue.string(problem.pointer.text).text.dropFirst().dropLast()): \(problem.message)"
    }
}
