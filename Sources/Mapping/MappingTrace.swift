package import Domain
package import Encodings

/// What each entry of the mappings would do in a login, with reasons, for a preview.
package struct MappingTrace: Sendable {
    /// The traces of the stored mapping's entries in their order, then those of the client's.
    package let entries: [TracedEntry]
    /// The first failure of the login; nil when it would succeed.
    package let refusal: Failure?
    /// The provider's permissions with which the profile would have the missing values, each permission once.
    package let missingPermissions: [String]
}

/// What one mapping entry would do in a login, for a preview.
package struct TracedEntry: Sendable {
    /// What the entry does to its property; the raw value is the word in previews.
    package enum Outcome: String, Sendable, CaseIterable {
        /// The property gets the value.
        case written
        /// The property already has the value.
        case unchanged
        /// The property gets the default.
        case defaulted
        /// The profile lacks the value, and the property is cleared.
        case cleared
        /// The profile's value does not fit, and the property stays unchanged.
        case leftOut
        /// The property stays unchanged, because another entry writes it or because the rule of `sync` forbids the
        /// change.
        case skipped
        /// The profile lacks the value, and the property stays unchanged.
        case missing
        /// The login fails because of the entry.
        case refused
    }

    package let origin: MappingOrigin
    /// The entry's position in the mapping document, counted from 0.
    package let position: Int
    package let from: String
    package let to: PropertyName
    /// The type to which values are converted before they are stored.
    package let type: PropertyType
    package let sync: SyncMode
    package let outcome: Outcome
    /// The value that the entry takes from the profile, or its default, in the property's type; nil if there is
    /// neither.
    package let value: PropertyValue?
    /// The user's current value; nil when empty, and when the login creates the user.
    package let current: PropertyValue?
    /// The reason for the outcome, in sentences.
    package let why: String
    /// The field that the profile lacks, or whose value is left out.
    package let field: String?
    /// The permission that the field requires; nil if it requires none, if none is known, or if it is granted.
    package let permission: String?
    /// The reason why the profile's value is left out.
    package let leftOut: Omission.Reason?
    /// A warning about the fields that the entry reads.
    package let warning: String?

    /// The trace of the entry as JSON for the response to a preview.
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
