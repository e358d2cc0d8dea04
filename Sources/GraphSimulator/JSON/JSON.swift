extension GraphSimulator {
    /// A JSON value that keeps the order of its members, because Graph's replies have a fixed one.
    ///
    /// Literals of every kind convert to it: `["id": "1", "age_range": ["min": 21]]`.
    public enum JSON: Sendable, Equatable {
        case null
        case bool(Bool)
        case integer(Int)
        case double(Double)
        case string(String)
        case array([JSON])
        case object([Member])

        /// One name and value of an object.
        public struct Member: Sendable, Equatable {
            /// The name, unescaped.
            public var name: String
            /// The value.
            public var value: JSON

            /// Makes a member.
            public init(_ name: String, _ value: JSON) {
                self.name = name
                self.value = value
            }
        }
    }
}

typealias JSON = GraphSimulator.JSON

extension JSON {
    /// The first member of that name; `nil` when absent or when this is no object.
    ///
    /// Setting `nil` removes it, setting a new name appends it, setting it on something that is no object makes an
    /// object of it.
    public subscript(name: String) -> GraphSimulator.JSON? {
        get { members?.first { $0.name.utf8.elementsEqual(name.utf8) }?.value }
        set {
            var members = members ?? []
            let index = members.firstIndex { $0.name.utf8.elementsEqual(name.utf8) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name, value))
            case (nil, nil): break
            }
            self = .object(members)
        }
    }

    /// The text, if this is a string.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number, if this is an integer.
    public var integer: Int? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    /// The truth value, if this is one.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements, if this is an array.
    public var array: [GraphSimulator.JSON]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members in their order, if this is an object.
    public var members: [Member]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// This value with the patch applied as RFC 7396 says: objects merge, `null` removes, all else replaces.
    public func merging(_ patch: GraphSimulator.JSON) -> GraphSimulator.JSON {
        guard case .object(let changes) = patch else { return patch }
        var result: JSON = .object(members ?? [])
        for change in changes {
            if change.value == .null {
                result[change.name] = nil
            } else {
                result[change.name] = (result[change.name] ?? .null).merging(change.value)
            }
        }
        return result
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Makes a string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Makes an integer.
    public init(integerLiteral value: Int) { self = .integer(value) }

    /// Makes a truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// Makes a number with a fraction.
    public init(floatLiteral value: Double) { self = .double(value) }

    /// Makes `null`.
    public init(nilLiteral: ()) { self = .null }

    /// Makes an array.
    public init(arrayLiteral elements: GraphSimulator.JSON...) { self = .array(elements) }

    /// Makes an object with the members in the order written.
    public init(dictionaryLiteral elements: (String, GraphSimulator.JSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}
