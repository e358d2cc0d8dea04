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
    /// Whether a login fails if the profile lacks the value and the entry has no default.
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
    /// The values to write, in the order of `CompiledMapping.targets`.
    ///
    /// An element is nil if there is neither a usable value in the profile nor a default.
    package let values: [PropertyValue?]
    /// The properties to clear; their elements of `values` are nil.
    ///
    /// The `sync` mode of an entry may still keep the stored value.
    package let cleared: [PropertyName]
    /// The missing fields: the profile lacks them, and their entries have no default.
    ///
    /// The properties of these entries stay unchanged or are cleared. The fields are in the order of the targets.
    package let missing: [MissingField]
    /// The values of the profile that were left out, including those that a default replaces.
    package let omissions: [Omission]

    /// The provider's permissions with which the profile would have had the missing fields, each permission once.
    package var missingPermissions: [String] { MissingField.permissions(of: missing) }
}

/// A field that a mapping needs and a profile lacks.
package struct MissingField: Sendable, Equatable {
    /// The property that gets no value, since the field is missing.
    package let property: PropertyName
    /// The name of the missing top-level field of the profile.
    package let field: String
    /// The permission that the field requires; nil if it requires none, if none is known, or if it is granted.
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
