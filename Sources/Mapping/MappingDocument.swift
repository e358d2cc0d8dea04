import Domain
import Encodings

/// The result of reading a mapping document: its valid entries and all its problems.
///
/// Reading continues after an invalid entry, so that one reading finds all problems.
struct MappingDocument {
    /// The valid entries with their positions in the document.
    private(set) var entries: [(entry: MappingEntry, reference: EntryReference)] = []
    private(set) var problems: [MappingProblem] = []
    /// The properties that entries write, including those of invalid entries.
    private(set) var targets: Set<PropertyName> = []

    init(_ json: JSONValue, origin: MappingOrigin) {
        let members = json.object?.members
        let elements = origin == .stored ? json.array : nil
        guard members != nil || elements != nil else {
            let forms = origin == .stored ? "an object or a list of entries" : "an object"
            problems = [MappingProblem(.mappingInvalid, origin, "a mapping is \(forms), not \(json.kind)")]
            return
        }
        let limit = origin == .stored ? MappingLimits.storedEntries : MappingLimits.clientEntries
        guard members?.count ?? elements?.count ?? 0 <= limit else {
            problems = [MappingProblem(.mappingInvalid, origin, "a mapping has at most \(limit) entries")]
            return
        }
        for (position, member) in (members ?? []).enumerated() { add(member, origin, position) }
        for (position, element) in (elements ?? []).enumerated() { add(element, position) }
    }

    /// Reads an entry from a member of a document in the dictionary form, and adds it.
    private mutating func add(_ member: JSONObject.Member, _ origin: MappingOrigin, _ position: Int) {
        let reference = EntryReference(
            origin: origin,
            position: position,
            isListed: false,
            from: member.key,
            to: member.value.string
        )
        var reader = EntryReader(reference)
        let entry = reader.pair(member)
        add(entry, reference, reader)
    }

    /// Reads an entry from an element of a document in the list form, and adds it.
    private mutating func add(_ element: JSONValue, _ position: Int) {
        let reference = EntryReference(
            origin: .stored,
            position: position,
            isListed: true,
            from: element.object?["from"]?.string,
            to: element.object?["to"]?.string
        )
        var reader = EntryReader(reference)
        let entry = reader.entry(element)
        add(entry, reference, reader)
    }

    private mutating func add(_ entry: MappingEntry?, _ reference: EntryReference, _ reader: EntryReader) {
        problems.append(contentsOf: reader.problems)
        if let target = reader.target, !targets.insert(target).inserted {
            problems.append(
                MappingProblem(.mappingInvalid, reference, in: .target, "another entry writes the same property")
            )
        } else if let entry {
            entries.append((entry, reference))
        }
    }
}
