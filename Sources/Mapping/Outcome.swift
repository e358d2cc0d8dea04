/// What became of a value on its way from a profile into a property.
enum Outcome<Value> {
    case value(Value)
    /// The profile lacks it, or holds too little of it (a birthday without its year for a DATE).
    case lacking
    /// The profile holds something else; says what kind of JSON value, never the value.
    case refused(String)
}

extension Outcome: Sendable where Value: Sendable {}
extension Outcome: Equatable where Value: Equatable {}
