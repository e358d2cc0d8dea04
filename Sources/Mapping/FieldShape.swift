import Domain
package import Encodings

/// The kind of value that a field of a provider's profile has, known before a profile arrives.
package indirect enum FieldShape: Sendable, Equatable {
    case unknown
    /// A line of text.
    case text
    /// Text of several lines.
    case prose
    case email
    /// A web address.
    case url
    /// A text of digits, such as an id.
    case digits
    /// `MM/DD/YYYY` or a part of it, or `YYYY-MM-DD`.
    case day
    case integer
    case boolean
    case list(of: FieldShape)
    case object([String: FieldShape])
    /// One of these constants, which are the values of a lookup table in a mapping entry.
    case constants([JSONValue])

    /// Creates the shape of values like a sample.
    ///
    /// A text that is a web address, or whose name is `email`, has the shape of such texts.
    init(ofSample sample: JSONValue, named name: String) {
        switch sample {
        case .string(let text):
            self = name == "email" ? .email : text.hasPrefix("https://") ? .url : .text
        case .bool: self = .boolean
        case .number: self = .integer
        case .array(let elements):
            self = elements.first.map { .list(of: FieldShape(ofSample: $0, named: "")) } ?? .unknown
        case .object(let object):
            self = .object(
                Dictionary(object.members.map { ($0.key, FieldShape(ofSample: $0.value, named: $0.key)) }) { $1 }
            )
        case .null: self = .unknown
        }
    }

    /// Returns the shape of the member with the given name; nil if values of this shape have no members.
    ///
    /// For a name that is not listed, the shape is `unknown`, since the provider may have added the member.
    func member(_ name: String) -> FieldShape? {
        switch self {
        case .unknown: .unknown
        case .object(let members): members[name] ?? .unknown
        case .list(let element): element.member(name).map { .list(of: $0) }
        case .text, .prose, .email, .url, .digits, .day, .integer, .boolean, .constants: nil
        }
    }

    /// The known names of an object's members; nil if any name is possible, or if values of this shape have no members.
    var knownMembers: [String]? {
        switch self {
        case .object(let members): members.keys.sorted()
        case .list(let element): element.knownMembers
        case .unknown, .text, .prose, .email, .url, .digits, .day, .integer, .boolean, .constants: nil
        }
    }

    /// Returns the shape of the values that a transform makes from values of this shape; nil if the transform always
    /// fails.
    func after(_ transform: Transform) -> FieldShape? {
        switch transform {
        // Digits and days contain no letters and no white space, so they stay unchanged.
        case .trim, .lowercase, .uppercase:
            guard case .constants = self else { return self }
            return .unknown
        case .first:
            guard case .list(let element) = self else { return self }
            return element
        case .join:
            guard case .list(let element) = self else { return self }
            return element.isNested ? nil : .text
        case .lookup(let lookup):
            guard !isNested else { return nil }
            return .constants(lookup.rows.members.map(\.value) + [lookup.otherwise ?? .null])
        case .date:
            switch self {
            case .list, .object, .integer, .boolean: return nil
            case .unknown, .text, .prose, .email, .url, .digits, .day, .constants: return .day
            }
        }
    }

    /// Returns whether values of this shape can be converted to a property type.
    func fits(_ type: PropertyType) -> Bool {
        switch self {
        case .unknown: true
        case .constants(let values):
            values.allSatisfy { value in
                if case .refused = Conversion.convert(value, to: type) { false } else { true }
            }
        case .list, .object: type == .json
        case .text, .prose, .email, .url: Self.anyText.contains(type)
        // An id may have more digits than a DOUBLE.
        case .digits: type == .int || Self.anyText.contains(type)
        case .day: type == .date || Self.anyText.contains(type)
        case .integer: type == .int || type == .double || Self.anyText.contains(type)
        case .boolean: type == .boolean || Self.anyText.contains(type)
        }
    }

    private var isNested: Bool {
        switch self {
        case .list, .object: true
        case .unknown, .text, .prose, .email, .url, .digits, .day, .integer, .boolean, .constants: false
        }
    }

    private static let anyText: Set<PropertyType> = [.string, .text, .json]

    /// A description of the values of this shape, for messages.
    var words: String {
        switch self {
        case .unknown: "a value"
        case .text, .prose: "text"
        case .email: "an e-mail address"
        case .url: "an address of the web"
        case .digits: "an id"
        case .day: "a day"
        case .integer: "an integer"
        case .boolean: "true or false"
        case .list: "a list"
        case .object: "an object"
        case .constants: "a value of the lookup"
        }
    }
}
