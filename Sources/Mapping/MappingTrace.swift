package import Vocabulary

/// What a login would do with each entry of its mappings, and why.
package struct MappingTrace: Sendable {
    /// One for each entry: those of the stored mapping in their order, then those of the client's.
    package let entries: [TracedEntry]
    /// The first failure that the login would answer; nil when it would go through.
    package let refusal: Failure?
    /// The permissions at the provider whose absence leaves properties unfilled, each once.
    package let missingPermissions: [String]
}

/// What a login would do with one entry.
package struct TracedEntry: Sendable {
    /// The raw value is the word of previews.
    package enum Outcome: String, Sendable, CaseIterable {
        /// The property gets the value.
        case written
        /// The property has the value already.
        case unchanged
        /// The property gets the default.
        case defaulted
        /// The profile lacks the value, and the property is emptied.
        case cleared
        /// What the profile has does not fit, and the property stays as it is.
        case leftOut
        /// Another entry or the rule of `sync` keeps the property as it is.
        case skipped
        /// The profile lacks the value, and the property stays as it is.
        case missing
        /// The login fails because of the entry.
        case refused
    }

    package let origin: MappingOrigin
    /// Counted from 0 in the order of its document.
    package let position: Int
    package let from: String
    package let to: PropertyName
    /// What values are converted to before they are stored.
    package let type: PropertyType
    package let sync: SyncMode
    package let outcome: Outcome
    /// What the profile or the default gives, in the form of the property; nil when neither gives anything.
    package let value: PropertyValue?
    /// What the user has; nil when empty, and when the login creates the user.
    package let current: PropertyValue?
    /// Whole sentences for people.
    package let why: String
    /// The field that the profile lacks, or has something in that is left out.
    package let field: String?
    /// The permission that would give the field; nil when none is needed, none is known, or it is granted.
    package let permission: String?
    /// Why what the profile has is left out.
    package let leftOut: Omission.Reason?
    /// What is doubtful about the fields that the entry reads.
    package let warning: String?

    /// As replies carry it.
    package var json: JSONValue {
        var object: JSONObject = [
            "mapping": .string(origin.rawValue), "position": .integer(Int64(position)), "from": .string(from),
            "to": .string(to.text), "type": .string(type.rawValue), "sync": .string(sync.rawValue),
            "outcome": .string(outcome.rawValue),
        ]
        if let value { object.append("value", value.json) }
        if let current { object.append("current", current.json) }
        object.append("why", .string(why))
        if let field { object.append("field", .string(field)) }
        if let permission { object.append("permission", .string(permission)) }
        if let leftOut { object.append("leftOut", .string(leftOut.rawValue)) }
        if let warning { object.append("warning", .string(warning)) }
        return .object(object)
    }
}
