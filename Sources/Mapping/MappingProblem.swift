package import Domain
package import Encodings

/// Who wrote a mapping: the operator or a client.
package enum MappingOrigin: String, Sendable {
    /// The operator, whose mapping the service stores.
    case stored
    /// The client, which sends the mapping with the login; the mapping is untrusted.
    case client
}

/// The position, the source and the property of a mapping entry, for messages and responses.
///
/// Source and property may be texts from a client. They are shown only if they are short and all their characters are
/// harmless in SQL, HTML and a terminal. Otherwise, only the position identifies the entry.
package struct EntryReference: Sendable, Equatable {
    package let origin: MappingOrigin
    /// The position of the entry in the mapping document, counted from 0.
    package let position: Int
    package let type: PropertyType?
    /// Whether the mapping document has the list form.
    ///
    /// Otherwise it has the dictionary form, in which an entry is a single member without parts that a pointer could
    /// name.
    let isListed: Bool
    /// The source of the entry, exactly as in the mapping document; it may be any text.
    private let source: String?
    private let target: String?

    init(
        origin: MappingOrigin,
        position: Int,
        isListed: Bool,
        from: String?,
        to: String?,
        type: PropertyType? = nil
    ) {
        self.origin = origin
        self.position = position
        self.isListed = isListed
        self.type = type
        source = from
        target = to
    }

    /// Returns the JSON pointer of a part of the entry in the mapping document.
    func pointer(to part: JSONPointer) -> JSONPointer {
        isListed ? JSONPointer() / position / part : JSONPointer() / (source ?? "")
    }

    /// The entry's source; nil if the text is unsafe to show.
    package var from: String? { source.flatMap(Self.shown) }

    /// The name of the property that the entry writes; nil if the text is unsafe to show.
    package var to: String? { target.flatMap(Self.shown) }

    package static func == (left: EntryReference, right: EntryReference) -> Bool { left.json == right.json }

    /// The beginning of a message: `mapping[2] ("birthday" to "age")`.
    var label: String {
        let place = "\(origin == .stored ? "mapping" : "fieldsMapping")[\(position)]"
        return switch (from, to) {
        case (let from?, let to?): "\(place) (\"\(from)\" to \"\(to)\")"
        case (let from?, nil): "\(place) (from \"\(from)\")"
        case (nil, let to?): "\(place) (to \"\(to)\")"
        case (nil, nil): place
        }
    }

    /// The entry as the value of `errorData.entry` in a response.
    package var json: JSONValue {
        var object: JSONObject = ["mapping": .string(origin.rawValue), "position": .integer(Int64(position))]
        if let from { object.append("from", .string(from)) }
        if let to { object.append("to", .string(to)) }
        if let type { object.append("type", .string(type.rawValue)) }
        return .object(object)
    }

    private static func shown(_ text: String) -> String? {
        guard (1...MappingLimits.pathBytes).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || Self.harmless.contains($0) })
        else { return nil }
        return text
    }

    private static let harmless = Set(" _-.{}".utf8)
}

/// One problem of a mapping.
package struct MappingProblem: Error, Sendable, Equatable {
    package let origin: MappingOrigin
    /// The invalid entry; nil for a problem of the whole document or of a property that no entry fills.
    package let entry: EntryReference?
    /// The reason of the failure: `mapping_invalid`, `mapping_target_not_allowed` or `value_not_convertible`.
    package let reason: Failure.Reason
    /// The message as a sentence that names the entry.
    package let message: String
    /// The part of the mapping document with the problem: a member of an entry, as in `/2/to`, an entry, or the whole
    /// document.
    package let pointer: JSONPointer

    init(_ reason: Failure.Reason, _ entry: EntryReference, in place: JSONPointer = JSONPointer(), _ text: String) {
        origin = entry.origin
        self.entry = entry
        self.reason = reason
        pointer = entry.pointer(to: place)
        message = "\(entry.label): \(text)."
    }

    init(_ reason: Failure.Reason, _ origin: MappingOrigin, _ text: String) {
        self.origin = origin
        entry = nil
        self.reason = reason
        pointer = JSONPointer()
        message = "\(origin == .stored ? "mapping" : "fieldsMapping"): \(text)."
    }

    /// The position of the entry, counted from 0.
    package var position: Int? { entry?.position }

    /// The problem as an element of `errorData.problems` in a response.
    package var json: JSONValue {
        var object: JSONObject = ["reason": .string(reason.rawValue), "message": .string(message)]
        if let entry { object.append("entry", entry.json) }
        return .object(object)
    }
}

/// All problems of a mapping, in the order of its entries.
package struct MappingProblems: Error, Sendable, Equatable {
    package let first: MappingProblem
    /// All problems, including `first`.
    package let all: [MappingProblem]

    /// Creates the error from a list of problems; nil if the list is empty.
    init?(_ problems: [MappingProblem]) {
        guard let first = problems.first else { return nil }
        self.first = first
        all = problems
    }

    /// The failure about the first problem.
    ///
    /// Its `errorData` contains all problems, and the entry of the first one.
    package var failure: Failure {
        var details: JSONObject = ["problems": .array(all.map(\.json))]
        if let entry = first.entry { details.append("entry", entry.json) }
        return Failure(first.reason, first.message, details: details)
    }
}
