/// What somebody gives to properties of a user, converted to their types.
package struct GivenProperties: Sendable {
    /// Declared and built-in properties, none twice; nil takes the value away.
    package var values: [(property: Property, value: PropertyValue?)] = []
    /// Undeclared properties by name; `null` takes the property away.
    package var dynamic = JSONObject()
    /// The language of e-mails; nil leaves it as it is.
    package var locale: Given<String>?

    /// A value that is given, if only as none.
    package enum Given<Value: Sendable>: Sendable {
        case value(Value)
        case none

        package var value: Value? {
            guard case .value(let value) = self else { return nil }
            return value
        }
    }

    package init() {}

    /// What is given to a property; nil when nothing is.
    package func given(_ name: PropertyName) -> Given<PropertyValue>? {
        values.first { $0.property.name == name }.map { $0.value.map(Given.value) ?? .none }
    }
}
