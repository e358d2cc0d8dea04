package import Encodings

/// Converts a configurable value from and to JSON, and describes its type.
package struct Codec<Value: Sendable>: Sendable {
    /// The type of the value, from which schemas, forms and texts are made.
    package let shape: Shape
    /// Reads a value from JSON; the second parameter is the position of the JSON value in the document.
    ///
    /// For an invalid value, the closure returns nil and adds a problem with this position.
    package let read: @Sendable (JSONValue, JSONPointer, inout DocumentProblems) -> Value?
    package let write: @Sendable (Value) -> JSONValue
    /// Returns warnings for operators about a value.
    ///
    /// Only an object has warnings, namely those about its members.
    let warnings: @Sendable (Value) -> [String]

    package init(
        _ shape: Shape,
        read: @escaping @Sendable (JSONValue, JSONPointer, inout DocumentProblems) -> Value?,
        write: @escaping @Sendable (Value) -> JSONValue,
        warnings: @escaping @Sendable (Value) -> [String] = { _ in [] }
    ) {
        (self.shape, self.read, self.write, self.warnings) = (shape, read, write, warnings)
    }

    /// The codec of a value that may also be nil, which documents write as `null`.
    package var orNull: Codec<Value?> {
        Codec<Value?>(.orNull(shape)) { value, place, problems in
            guard !value.isNull else { return .some(nil) }
            return read(value, place, &problems).map { .some($0) }
        } write: { value in
            value.map(write) ?? .null
        }
    }

    /// The codec of a value that is written as a text.
    ///
    /// - Parameters:
    ///   - rule: The rule of the text.
    ///   - parse: Returns the value of a text; nil for a text that breaks the rule.
    ///   - text: Returns the text of a value.
    /// - Returns: The codec.
    package static func text(
        _ rule: TextRule,
        _ parse: @escaping @Sendable (String) -> Value?,
        text: @escaping @Sendable (Value) -> String
    ) -> Codec {
        Codec(.text(rule)) { value, place, problems in
            guard let text = value.string, rule.allows(text), let parsed = parse(text) else {
                problems.add(place, value.string.flatMap(rule.problem) ?? rule.text)
                return nil
            }
            return parsed
        } write: { value in
            .string(text(value))
        }
    }
}

extension Codec<Bool> {
    /// The codec of `true` or `false`.
    package static var flag: Codec {
        Codec(.flag) { value, place, problems in
            if value.bool == nil { problems.add(place, "must be true or false") }
            return value.bool
        } write: { value in
            .bool(value)
        }
    }
}

extension Codec<Int64> {
    /// Returns the codec of a whole number within bounds, which counts a unit such as `days`.
    package static func integer(_ range: ClosedRange<Int64>, _ unit: String) -> Codec {
        number(.integer(range, unit: unit), range, unit)
    }

    /// Returns the codec of a duration in whole seconds within bounds.
    ///
    /// Forms and commands show the duration in larger units such as days, and accept these units.
    package static func seconds(_ range: ClosedRange<Int64>) -> Codec { number(.seconds(range), range, "seconds") }

    private static func number(_ shape: Shape, _ range: ClosedRange<Int64>, _ unit: String) -> Codec {
        Codec(shape) { value, place, problems in
            if let number = value.integer, range.contains(number) { return number }
            problems.add(place, "must be whole \(unit) from \(range.lowerBound) to \(range.upperBound)")
            return nil
        } write: { value in
            .integer(value)
        }
    }
}

extension Codec<String> {
    /// Returns the codec of a text that must follow a rule.
    package static func text(_ rule: TextRule) -> Codec {
        text(rule, { rule.problem($0) == nil ? $0 : nil }, text: { $0 })
    }
}

extension Codec where Value: RawRepresentable<String> & CaseIterable {
    /// The codec of an enumeration whose cases are written as their raw values.
    package static var word: Codec {
        let words = Value.allCases.map(\.rawValue)
        return Codec(.word(words)) { value, place, problems in
            let found = Value.allCases.first { value.string?.hasSameBytes(as: $0.rawValue) == true }
            if found == nil { problems.add(place, "must be one of " + words.joined(separator: ", ")) }
            return found
        } write: { value in
            .string(value.rawValue)
        }
    }
}

extension Codec {
    /// Returns the codec of a list whose elements have the given codec.
    ///
    /// If an element cannot be read, the codec adds a problem with the position of the element. It still reads the
    /// other elements.
    ///
    /// - Parameters:
    ///   - element: The codec of the elements.
    ///   - max: The maximum number of elements.
    ///   - repeated: The problem of a list that contains an element twice, such as `names a role twice`. Nil if a list
    ///     may contain an element twice.
    /// - Returns: The codec.
    package static func list<Element>(
        of element: Codec<Element>,
        max: Int,
        repeated: String? = nil
    ) -> Codec where Value == [Element] {
        Codec(.list(element.shape, max: max, isSet: repeated != nil)) { value, place, problems in
            guard let elements = value.array, elements.count <= max else {
                problems.add(place, "must be a list of at most \(max) texts")
                return nil
            }
            let read = elements.enumerated().compactMap { element.read($1, place / $0, &problems) }
            if let repeated, Set(read.map { element.write($0).text.utf8.map(\.self) }).count != read.count {
                problems.add(place, repeated)
            }
            return read
        } write: { value in
            .array(value.map(element.write))
        }
    }

    /// Returns the codec of an object whose members are described by an `ObjectDescription`.
    package static func object(_ description: ObjectDescription<Value>) -> Codec {
        Codec(.object(description.shape)) { value, place, problems in
            description.read(value, at: place, problems: &problems)
        } write: { value in
            description.document(of: value)
        } warnings: { value in
            description.warnings(of: value)
        }
    }
}
