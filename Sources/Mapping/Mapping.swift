// Mapping — how a provider's profile becomes properties of a user.
//
// It owns mapping documents (reading, writing, checking them), the plan that a stored and a client's mapping make
// together, the one conversion table of JSON values into property types, the catalogues of what providers know of a
// person, and the boundary that a profile has to fit (`AdmittedProfile`). Documents are data: paths, a closed list of
// transforms and literal text, nothing that is executed (decision D4).
//
// It must not know of HTTP, SQL, sessions, clocks or where a profile came from. It imports Vocabulary and nothing else.
// `docs/mapping.md` is its reference for operators; every example there is run by a test.

package import Vocabulary

/// A mapping document as read: every entry follows the rules that need no application to be checked.
package struct Mapping: Sendable, Equatable {
    /// The entries in the order of the document; an entry's position in messages is its index here.
    package let entries: [MappingEntry]

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - json: The dictionary form, `{"email": "email"}`, or, unless a client sent it, the list form.
    ///   - origin: Who wrote it. A client's document has the dictionary form only, paths but no templates, and fewer
    ///     entries. Where an application has client mapping switched off, do not read the client's document at all.
    /// - Throws: Every problem of the document at once.
    package init(_ json: JSONValue, origin: MappingOrigin = .stored) throws(MappingProblems) {
        let document = MappingDocument(json, origin: origin)
        if let problems = MappingProblems(document.problems) { throw problems }
        entries = document.entries.map(\.entry)
    }

    /// The document in the list form, as it is stored: what equals a default is left out.
    package var json: JSONValue { .array(entries.map(\.json)) }
}

/// One line of a mapping: where a value comes from and how it gets into which property.
package struct MappingEntry: Sendable, Equatable {
    package let from: MappingSource
    package let to: PropertyName
    /// What values are converted to before they are stored; nil means the property's own type.
    package let type: PropertyType?
    package let sync: SyncMode
    /// Whether a login fails when the profile lacks the value and there is no default.
    package let required: Bool
    /// The value when the profile lacks it; never JSON null.
    package let `default`: JSONValue?
    /// What becomes of the property when a later profile lacks the value; nil for what `Clearing` makes of the path.
    package let whenMissing: WhenMissing?
    /// Applied in this order, before the default and the conversion.
    package let transforms: [Transform]

    /// The entry in the list form: what equals a default is left out.
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

/// What an entry reads.
package enum MappingSource: Sendable, Equatable {
    case path(FieldPath)
    case template(Template)

    /// The text of the document.
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
