// Mapping — the conversion of a provider's profile to properties of a user.
//
// This module owns mapping documents (reading, writing, checking them), the plan of a stored and a client's mapping
// together, the one conversion table of JSON values to property types, the catalogues of providers' fields, and the
// checks of a profile (`AdmittedProfile`). Documents are data: paths, a closed list of transforms and literal text,
// nothing that is executed (decision D4).
//
// It must not know of HTTP, SQL, sessions, clocks or the source of a profile. `docs/mapping.md` is its reference for
// operators; a test runs every example there.

package import Domain
package import Encodings

/// A valid mapping document: rules that write fields of a provider's profile to properties of a user.
///
/// The rules that depend on an application, such as its properties, are not checked yet.
package struct Mapping: Sendable, Equatable {
    /// The entries in the order of the document; an entry's index is its position in messages.
    package let entries: [MappingEntry]

    /// Parses a mapping document.
    ///
    /// - Parameters:
    ///   - json: The document in the dictionary form, such as `{"email": "email"}`, or in the list form. A client's
    ///     document must have the dictionary form.
    ///   - origin: The author. A client's document may contain paths but no templates, and fewer entries than an
    ///     operator's. If the application does not allow client mappings, do not read the client's document at all.
    /// - Throws: All problems of the document at once.
    package init(_ json: JSONValue, origin: MappingOrigin = .stored) throws(MappingProblems) {
        let document = MappingDocument(json, origin: origin)
        if let problems = MappingProblems(document.problems) { throw problems }
        entries = document.entries.map(\.entry)
    }

    /// The document in the list form, as it is stored.
    ///
    /// Members of an entry are omitted if they have the value that applies without them, such as `"required": false`.
    package var json: JSONValue { .array(entries.map(\.json)) }
}

/// One entry of a mapping: a source, a property, and the conversion between them.
package struct MappingEntry: Sendable, Equatable {
    package let from: MappingSource
    package let to: PropertyName
    /// The type to which values are converted before they are stored; nil means the property's own type.
    package let type: PropertyType?
    package let sync: SyncMode
    /// Whether a login fails if the profile lacks the value and the entry has no default.
    package let required: Bool
    /// The value to write if the profile lacks a value; never JSON null.
    package let `default`: JSONValue?
    /// What a later login does with the property if the profile lacks the value; nil for the default rule in
    /// `Clearing`.
    package let whenMissing: WhenMissing?
    /// The transforms, in their order.
    ///
    /// They are applied to the profile's value before the conversion.
    package let transforms: [Transform]

    /// The entry in the list form.
    ///
    /// Members are omitted if they have the value that applies without them, such as `"required": false`.
    package var json: JSONValue {
        var object: JSONObject = ["from": .string(from.text), "to": .string(to.text)]
        if let type { object.append("type", .string(type.rawValue)) }
        if sync != .always { object.append("sync", .string(sync.rawValue)) }
        if required { object.append("required", .bool(true)) }
        if let fallback = `default` { object.append("default", fallback) }
        if let whenMissing { object.append("whenMissing", .string(whenMissing.rawValue)) }
        if transforms.count == 1, let only = transforms.first {
            object.append("transform", only.json)
        } else if !transforms.isEmpty {
            object.append("transform", .array(transforms.map(\.json)))
        }
        return .object(object)
    }
}

/// Where a mapping entry takes its value from.
package enum MappingSource: Sendable, Equatable {
    case path(FieldPath)
    case template(Template)

    /// The source as the mapping document contains it.
    package var text: String {
        switch self {
        case .path(let path): path.text
        case .template(let template): template.text
        }
    }

    /// The paths in the order of the text; never empty.
    package var paths: [FieldPath] {
        switch self {
        case .path(let path): [path]
        case .template(let template): template.paths
        }
    }
}
