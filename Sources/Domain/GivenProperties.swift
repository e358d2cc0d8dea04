package import Encodings

/// New values for properties of a user, converted to the properties' types.
package struct GivenProperties: Sendable {
    /// The new values of declared and built-in properties, each property at most once.
    ///
    /// Nil removes the stored value.
    package var values: [(property: Property, value: PropertyValue?)] = []
    /// Undeclared properties by name; `null` removes the property.
    package var dynamic = JSONObject()
    /// The new language of the mails to the user; nil leaves the language as it is.
    package var locale: Given<String>?

    /// A new value, or the removal of the present one.
    package enum Given<Value: Sendable>: Sendable {
        case value(Value)
        case none

        package var value: Value? {
            guard case .value(let value) = self else { return nil }
            return value
        }
    }

    package init() {}

    /// Returns the new value of a property; nil when the property stays as it is.
    package func given(_ name: PropertyName) -> Given<PropertyValue>? {
        values.first { $0.property.name == name }.map { $0.value.map(Given.value) ?? .none }
    }
}
