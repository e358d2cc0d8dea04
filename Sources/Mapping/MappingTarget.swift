package import Vocabulary

/// Where the value of an entry goes.
package struct MappingTarget: Sendable, Equatable {
    /// A place in the users table.
    package enum Place: Sendable, Equatable {
        /// The column of a declared or built-in property.
        case column(Property)
        /// A member of the column for undeclared properties.
        case dynamic(PropertyName)

        /// Whether a user cannot be without it.
        var isRequired: Bool {
            switch self {
            case .column(let property): property.required
            case .dynamic: false
            }
        }
    }

    package let place: Place
    package let sync: SyncMode
    /// Whether a login fails when the profile lacks the value.
    package let required: Bool
    /// Whether a lack may empty the property.
    package let mayBeCleared: Bool

    package var name: PropertyName {
        switch place {
        case .column(let property): property.name
        case .dynamic(let name): name
        }
    }

    /// The type of the values that arrive here, whatever type the entry converts them to in between.
    package var type: PropertyType {
        switch place {
        case .column(let property): property.type
        case .dynamic: .json
        }
    }
}

/// What a mapping made of a profile.
package struct MappedProfile: Sendable {
    /// A value for each of `CompiledMapping.targets`, in the same order; nil for what lacks.
    package let values: [PropertyValue?]
    /// The properties that are emptied where their `sync` would write over what is there; their values are nil.
    package let cleared: [PropertyName]
    /// Why properties stay as they are or are emptied, in the order of the targets; nothing of an entry whose default
    /// stepped in.
    package let missing: [MissingField]
    /// What is left out, where a default steps in too.
    package let omissions: [Omission]

    /// The permissions at the provider whose absence left properties unfilled, each once.
    package var missingPermissions: [String] { MissingField.permissions(of: missing) }
}

/// A field that a mapping wanted and a profile lacked.
package struct MissingField: Sendable, Equatable {
    /// The property that gets no value.
    package let property: PropertyName
    /// The top-level field of the profile.
    package let field: String
    /// The permission that would give it; nil when none is needed, none is known, or it is granted.
    package let permission: String?

    /// The permissions that would give fields, each once.
    static func permissions(of fields: [MissingField]) -> [String] {
        var permissions: [String] = []
        for permission in fields.compactMap(\.permission) where !permissions.contains(permission) {
            permissions.append(permission)
        }
        return permissions
    }
}
