package import Domain

/// The property that a mapping entry writes, with the entry's rules for writing it.
package struct MappingTarget: Sendable, Equatable {
    /// Where the users table stores a property.
    package enum Place: Sendable, Equatable {
        /// The column of a declared or built-in property.
        case column(Property)
        /// A member of the column for undeclared properties.
        case dynamic(PropertyName)

        /// Whether the property is required.
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
    /// Whether the entry may clear the property when the profile lacks the value.
    package let mayBeCleared: Bool

    package var name: PropertyName {
        switch place {
        case .column(let property): property.name
        case .dynamic(let name): name
        }
    }

    /// The type of the property, even if the entry first converts values to another type.
    package var type: PropertyType {
        switch place {
        case .column(let property): property.type
        case .dynamic: .json
        }
    }
}

/// What a mapping makes of one profile: the values of properties, and what the profile lacks.
package struct MappedProfile: Sendable {
    /// The values to write, in the order of `CompiledMapping.targets`; nil where the profile gives no value.
    package let values: [PropertyValue?]
    /// The properties to clear, unless the `sync` mode of their entry keeps the stored value; `values` has nil for
    /// them.
    package let cleared: [PropertyName]
    /// The fields that the profile lacks and whose properties therefore stay unchanged or are cleared, in the order of
    /// the targets.
    ///
    /// Fields of entries with a default are not included.
    package let missing: [MissingField]
    /// The values of the profile that were left out, including those that a default replaces.
    package let omissions: [Omission]

    /// The permissions at the provider that would have given the missing values, each once.
    package var missingPermissions: [String] { MissingField.permissions(of: missing) }
}

/// A field that a mapping needs and a profile lacks.
package struct MissingField: Sendable, Equatable {
    /// The property that gets no value, since the field is missing.
    package let property: PropertyName
    /// The name of the missing top-level field of the profile.
    package let field: String
    /// The permission for the field; nil when none is needed, none is known, or it is granted.
    package let permission: String?

    /// Returns the permissions for the fields, each once.
    static func permissions(of fields: [MissingField]) -> [String] {
        var permissions: [String] = []
        for permission in fields.compactMap(\.permission) where !permissions.contains(permission) {
            permissions.append(permission)
        }
        return permissions
    }
}
