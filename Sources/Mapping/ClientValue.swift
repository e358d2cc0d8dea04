package import Domain
package import Encodings

/// Converts the property values that a client sends at registration or in an update.
///
/// The table in `docs/mapping.md` applies, except for dates and times. These have the same form as in responses, so
/// that a client can send back the values of a response.
package enum ClientValue {
    /// Converts a value to the type of a property.
    ///
    /// Dates and times have other forms than in profiles. A number is milliseconds since 1970, as in responses, not
    /// seconds. For a DATE, the client may send any time, which becomes the day of that time in UTC. A birthday without
    /// its year or day is refused.
    ///
    /// - Parameters:
    ///   - json: The value.
    ///   - property: The property.
    ///   - times: Whether a time without an offset from UTC is accepted as a time in UTC.
    /// - Returns: The value; nil for `null`.
    /// - Throws: `value_not_convertible` with the property and the kind of value, never the value.
    package static func convert(
        _ json: JSONValue,
        to property: Property,
        offsetlessTimes times: OffsetlessTimes
    ) throws(Failure) -> PropertyValue? {
        guard !json.isNull else { return nil }
        guard case .value(let value) = outcome(json, property.type, times), !value.isTooLong else {
            throw Failure(
                .valueNotConvertible,
                "Property \"\(property.name)\" is of type \(property.type.rawValue), and \(misfit(json, property.type)).",
                details: ["property": .string(property.name.text), "type": .string(property.type.rawValue)]
            )
        }
        return value
    }

    private static func outcome(
        _ json: JSONValue,
        _ type: PropertyType,
        _ times: OffsetlessTimes
    ) -> Outcome<PropertyValue> {
        switch (type, moment(json, times)) {
        case (.dateTime, let moment?): .value(.dateTime(moment))
        case (.date, let moment?): CalendarDate(ofMoment: moment).map { .value(.date($0)) } ?? .refused(json.kind)
        case (.dateTime, nil): .refused(json.kind)
        default: Conversion.convert(json, to: type)
        }
    }

    /// Parses a time, given as milliseconds since 1970 or as a text in the form that JavaScript and Dart write.
    private static func moment(_ json: JSONValue, _ times: OffsetlessTimes) -> Int64? {
        switch json {
        case .number(let number): number.exactInteger.flatMap { MomentText.isMoment($0) ? $0 : nil }
        case .string(let text):
            MomentText.read(text) ?? (times == .utc ? MomentText.read(offsetless: text) : nil)
        case .null, .bool, .array, .object: nil
        }
    }

    /// Returns the last part of an error message about a value that does not fit its property's type.
    private static func misfit(_ json: JSONValue, _ type: PropertyType) -> String {
        let isOffsetless = json.string.flatMap(MomentText.read(offsetless:)) != nil
        guard isOffsetless, type == .date || type == .dateTime else {
            return "the value, \(json.kind), does not fit it"
        }
        return "the time has no UTC offset: end it with Z or an offset like +02:00"
    }
}
