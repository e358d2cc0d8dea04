package import Identity

/// Where the value of an entry goes.
package struct MappingTarget: Sendable, Equatable {
    /// A place in the users table.
    package enum Place: Sendable, Equatable {
        /// The column of a declared or built-in property.
        case column(Property)
        /// A member of the column for undeclared properties.
        case dynamic(PropertyName)
    }

    package let place: Place
    package let sync: SyncMode
    /// Whether a login fails when the profile lacks the value.
    package let required: Bool

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
    /// A value for each of `CompiledMapping.targets`, in the same order; nil leaves the property as it is.
    package let values: [PropertyValue?]
    /// Why properties stay as they are, in the order of the targets; nothing of an entry whose default stepped in.
    package let missing: [MissingField]

    /// The permissions at Facebook whose absence left properties unfilled, each once.
    package var missingPermissions: [String] {
        var permissions: [String] = []
        for permission in missing.compactMap(\.permission) where !permissions.contains(permission) {
            permissions.append(permission)
        }
        return permissions
    }
}

/// A field that a mapping wanted and a profile lacked.
package struct MissingField: Sendable, Equatable {
    /// The property that stays as it is.
    package let property: PropertyName
    /// The top-level field of the profile.
    package let field: String
    /// The permission that would give it; nil when none is needed, none is known, or it is granted.
    package let permission: String?
}
