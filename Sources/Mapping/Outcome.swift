/// The result of converting a profile's value for a property.
enum Outcome<Value> {
    case value(Value)
    /// The profile lacks the value, or contains only a part of it, such as a birthday without its year for a DATE.
    case lacking
    /// The profile's value does not fit; the text names the kind of the JSON value, never the value.
    case refused(String)
}

extension Outcome: Sendable where Value: Sendable {}
extension Outcome: Equatable where Value: Equatable {}
