package import Vocabulary

/// A value that a client gives a property itself, at registration or in an update: the conversion table of
/// `docs/mapping.md`, read the other way round, so that what a reply said may come back.
package enum ClientValue {
    /// Converts a value to the type of a property.
    ///
    /// Two rows differ from those for profiles: a number given to a DATETIME is milliseconds since 1970, as in replies,
    /// not seconds; and half a date is no date.
    ///
    /// - Returns: The value; nil for `null`.
    /// - Throws: `value_not_convertible` with the property and what kind of value it was, never the value.
    package static func convert(_ json: JSONValue, to property: Property) throws(Failure) -> PropertyValue? {
        guard !json.isNull else { return nil }
        guard case .value(let value) = outcome(json, property.type), !value.isTooLong else {
            throw Failure(
                .valueNotConvertible,
                "Property \"\(property.name)\" is of type \(property.type.rawValue), and \(json.kind) was given that does not fit it.",
                details: ["property": .string(property.name.text), "type": .string(property.type.rawValue)]
            )
        }
        return value
    }

    private static func outcome(_ json: JSONValue, _ type: PropertyType) -> Outcome<PropertyValue> {
        guard type == .dateTime, case .number(let number) = json else { return Conversion.convert(json, to: type) }
        guard let milliseconds = number.exactInteger, MomentText.isMoment(milliseconds) else {
            return .refused(json.kind)
        }
        return .value(.dateTime(milliseconds))
    }
}
