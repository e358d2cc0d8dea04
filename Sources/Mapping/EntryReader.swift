import Description
import Domain
import Encodings

/// An error in a mapping document, described by a sentence that quotes nothing from the document.
struct DocumentError: Error {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

/// Reads one entry of a mapping document and collects all problems of the entry.
struct EntryReader {
    private(set) var problems: [MappingProblem] = []
    /// The property that the entry writes; nil if the entry does not name a valid one.
    ///
    /// It is set even if another part of the entry is invalid.
    private(set) var target: PropertyName?
    private let reference: EntryReference

    init(_ reference: EntryReference) {
        self.reference = reference
    }

    /// Reads an entry in the dictionary form, a member such as `"email": "email"`; nil when there are problems.
    mutating func pair(_ member: JSONObject.Member) -> MappingEntry? {
        let from = source(member.key)
        guard case .string(let name) = member.value else {
            invalid("the property is named by a string, not by \(member.value.kind)")
            return nil
        }
        let to = target(name)
        guard problems.isEmpty, let from, let to else { return nil }
        return MappingEntry(
            from: from,
            to: to,
            type: nil,
            sync: .always,
            required: false,
            default: nil,
            whenMissing: nil,
            transforms: []
        )
    }

    /// Reads an entry in the list form, an object with `from` and `to`; nil when there are problems.
    mutating func entry(_ json: JSONValue) -> MappingEntry? {
        guard let object = json.object else {
            invalid("an entry is an object, not \(json.kind)")
            return nil
        }
        for member in object.members where !Self.keys.contains(where: { $0.hasSameBytes(as: member.key) }) {
            let hint = NearestName.hint(for: member.key, among: Self.keys)
            invalid(
                "an entry has the keys \(Self.keys.joined(separator: ", ")) and no others\(hint)",
                in: JSONPointer() / member.key
            )
        }
        let from = object["from"]?.string.flatMap { source($0) }
        if object["from"]?.string == nil { invalid("\"from\" is missing or not a string", in: .source) }
        let to = object["to"]?.string.flatMap { target($0) }
        if object["to"]?.string == nil { invalid("\"to\" is missing or not a string", in: .target) }
        let type = word(PropertyType.self, "type", object)
        let sync = word(SyncMode.self, "sync", object)
        let required = object.present("required")
        if let required, required.bool == nil { invalid("\"required\" is true or false", in: .required) }
        let fallback = object.present("default")
        if let fallback, fallback.text.utf8.count > MappingLimits.defaultBytes {
            invalid("a default has at most \(MappingLimits.defaultBytes) bytes", in: .fallback)
        }
        let whenMissing = word(WhenMissing.self, "whenMissing", object)
        if whenMissing != nil, fallback != nil || required?.bool == true {
            invalid(
                "\"whenMissing\" cannot be combined with a default or \"required\", because the value is never missing",
                in: .whenMissing
            )
        }
        if whenMissing == .clear, let sync, !sync.mayClear {
            invalid("\"whenMissing\" can be clear only if \"sync\" is always or untilEdited", in: .whenMissing)
        }
        let transforms = transforms(object.present("transform"))
        guard problems.isEmpty, let from, let to else { return nil }
        return MappingEntry(
            from: from,
            to: to,
            type: type,
            sync: sync ?? .always,
            required: required?.bool ?? false,
            default: fallback,
            whenMissing: whenMissing,
            transforms: transforms
        )
    }

    private static let keys = ["from", "to", "type", "sync", "required", "default", "whenMissing", "transform"]

    private mutating func invalid(_ text: String, in place: JSONPointer = JSONPointer()) {
        problems.append(MappingProblem(.mappingInvalid, reference, in: place, text))
    }

    private mutating func notAllowed(_ text: String) {
        problems.append(MappingProblem(.mappingTargetNotAllowed, reference, in: .target, text))
    }

    private mutating func source(_ text: String) -> MappingSource? {
        if text.utf8.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) {
            guard reference.origin == .stored else {
                invalid("a client's mapping names fields; templates are for operators", in: .source)
                return nil
            }
            do throws(DocumentError) {
                return .template(try Template(text))
            } catch {
                invalid(error.text, in: .source)
                return nil
            }
        }
        guard let path = FieldPath(text) else {
            invalid(
                """
                a field is written in small letters, digits and _, with dots between nested names, as picture.data.url; at most \
                \(MappingLimits.pathBytes) bytes and \(MappingLimits.pathSegments) names
                """,
                in: .source
            )
            return nil
        }
        return .path(path)
    }

    private mutating func target(_ text: String) -> PropertyName? {
        guard let name = PropertyName(text) else {
            notAllowed("a property's name is 1 to 63 ASCII letters, digits and _, beginning with a letter")
            return nil
        }
        guard !name.isReserved else {
            notAllowed("the property belongs to the system")
            return nil
        }
        target = name
        return name
    }

    /// Reads a member of an entry that must be one of several words; nil when absent or wrong.
    private mutating func word<Words>(_ words: Words.Type, _ key: String, _ object: JSONObject) -> Words?
    where Words: RawRepresentable<String> & CaseIterable {
        guard let json = object.present(key) else { return nil }
        let found = json.string.flatMap { text in Words.allCases.first { $0.rawValue.hasSameBytes(as: text) } }
        if found == nil {
            invalid(
                "\"\(key)\" is one of \(Words.allCases.map(\.rawValue).joined(separator: ", "))",
                in: JSONPointer() / key
            )
        }
        return found
    }

    private mutating func transforms(_ json: JSONValue?) -> [Transform] {
        guard let json else { return [] }
        let elements = json.array ?? [json]
        guard elements.count <= MappingLimits.transforms else {
            invalid("an entry has at most \(MappingLimits.transforms) transforms", in: .transform)
            return []
        }
        return elements.enumerated().compactMap { index, element in
            do throws(DocumentError) {
                return try Transform(element)
            } catch {
                invalid(error.text, in: json.array == nil ? .transform : .transform / index)
                return nil
            }
        }
    }
}

/// The JSON pointers to the members of a mapping entry in the list form.
extension JSONPointer {
    static let source = JSONPointer() / "from"
    static let target = JSONPointer() / "to"
    static let type = JSONPointer() / "type"
    static let required = JSONPointer() / "required"
    static let fallback = JSONPointer() / "default"
    static let whenMissing = JSONPointer() / "whenMissing"
    static let transform = JSONPointer() / "transform"
}
