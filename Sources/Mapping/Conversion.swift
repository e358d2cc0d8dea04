import Domain
import Encodings

/// Converts JSON values of a profile to property values, by the table in `docs/mapping.md`.
///
/// All values of profiles are converted here. A value that does not fit the type is refused. Only two conversions lose
/// digits: a number becomes the nearest DOUBLE, and the fraction of a second is cut to milliseconds.
enum Conversion {
    /// Converts a value of a profile.
    ///
    /// - Parameters:
    ///   - json: The value; `null` counts as a missing value.
    ///   - type: The type of the entry's values.
    /// - Returns: The value; `lacking` for null, and for a birthday without year or day as a DATE; `refused` if the
    ///   table has no conversion.
    static func convert(_ json: JSONValue, to type: PropertyType) -> Outcome<PropertyValue> {
        if json.isNull { return .lacking }
        return switch type {
        case .string, .text: outcome(json, json.scalarText.map(PropertyValue.text))
        case .int: outcome(json, number(json)?.exactInteger.map(PropertyValue.integer))
        case .double: outcome(json, number(json)?.double.map(PropertyValue.double))
        case .boolean: outcome(json, boolean(json).map(PropertyValue.boolean))
        case .date: date(json)
        case .dateTime: outcome(json, dateTime(json).map(PropertyValue.dateTime))
        case .json: .value(.json(json))
        }
    }

    private static func outcome(_ json: JSONValue, _ converted: PropertyValue?) -> Outcome<PropertyValue> {
        converted.map { .value($0) } ?? .refused(json.kind)
    }

    /// Returns a JSON number, or the number in a text.
    private static func number(_ json: JSONValue) -> JSONNumber? {
        switch json {
        case .number(let number): number
        case .string(let text): JSONNumber(spelledBy: text)
        case .null, .bool, .array, .object: nil
        }
    }

    private static func boolean(_ json: JSONValue) -> Bool? {
        switch json {
        case .bool(let value): value
        case .string(let text) where text.hasSameBytes(as: "true"): true
        case .string(let text) where text.hasSameBytes(as: "false"): false
        case .null, .string, .number, .array, .object: nil
        }
    }

    private static func date(_ json: JSONValue) -> Outcome<PropertyValue> {
        guard case .string(let text) = json else { return .refused(json.kind) }
        return switch BirthdayText(text) {
        case .day(let date): .value(.date(date))
        case .partial: .lacking
        case nil: .refused(json.kind)
        }
    }

    private static func dateTime(_ json: JSONValue) -> Int64? {
        switch json {
        case .string(let text): MomentText.read(text)
        case .number(let number): number.exactInteger.flatMap { MomentText.moment(seconds: $0) }
        case .null, .bool, .array, .object: nil
        }
    }

    // MARK: An entry's own type

    /// Returns whether a property of the type `column` can hold values that an entry first converts to the type `type`.
    ///
    /// A property of text type holds values of every type but JSON. A JSON property holds values of every type, and a
    /// DOUBLE property also holds integers. Every other property holds only values of its own type.
    static func column(_ column: PropertyType, holds type: PropertyType) -> Bool {
        switch (column, type) {
        case (.json, _): true
        case (.string, .json), (.text, .json): false
        case (.string, _), (.text, _): true
        case (.double, .int): true
        default: column == type
        }
    }

    /// Converts a value from the type that an entry names to the type of the entry's property.
    ///
    /// An integer that no DOUBLE represents exactly is refused, and so is a combination that `column(_:holds:)`
    /// excludes.
    static func store(_ value: PropertyValue, in column: PropertyType) -> Outcome<PropertyValue> {
        switch (column, value) {
        case (.string, .text), (.text, .text), (.int, .integer), (.double, .double), (.boolean, .boolean),
            (.date, .date), (.dateTime, .dateTime), (.json, .json):
            return .value(value)
        case (.json, _): return .value(.json(value.json))
        case (.string, _), (.text, _): return text(of: value).map { .value(.text($0)) } ?? .refused("a value")
        case (.double, .integer(let integer)):
            return Double(exactly: integer).map { .value(.double($0)) } ?? .refused("a number")
        default: return .refused("a value")
        }
    }

    private static func text(of value: PropertyValue) -> String? {
        switch value {
        case .dateTime(let moment): MomentText.write(moment)
        case .json: nil
        case .text, .integer, .double, .boolean, .date: value.json.scalarText
        }
    }
}
