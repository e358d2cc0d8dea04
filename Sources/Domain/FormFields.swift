import Encodings

/// The fields of a form or of a query.
///
/// Both are read by the same strict rules.
package struct FormFields: Sendable {
    private var fields: [(name: String, value: String)] = []

    /// Reads the fields.
    ///
    /// - Parameters:
    ///   - text: The query, or the body of a form.
    ///   - max: The maximum number of fields; 64 is more than any query needs.
    /// - Throws: `malformed_request` for text that cannot be decoded, and for too many fields.
    package init(_ text: String, max: Int = 64) throws(Failure) {
        let malformed = Failure(
            .malformedRequest,
            "A form or query must be percent-encoded UTF-8 without NUL, of at most \(max) fields."
        )
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { throw malformed }
        let pairs = EncodedPair.read(text, max: max)
        guard pairs.count <= max else { throw malformed }
        for pair in pairs {
            guard let name = pair.name, let value = pair.value else { throw malformed }
            fields.append((name, value))
        }
    }

    /// All fields, in the order of the text.
    package var all: [(name: String, value: String)] { fields }

    /// Returns the value of a field, or nil when the field is absent.
    ///
    /// - Throws: `malformed_request` when the field is repeated, since two programs could then use different values.
    package func value(_ name: String) throws(Failure) -> String? {
        let values = fields.filter { $0.name.hasSameBytes(as: name) }.map(\.value)
        guard values.count <= 1 else {
            throw Failure(.malformedRequest, "\(name) is repeated. Send it once.")
        }
        return values.first
    }

    /// Returns all fields except those with the given name.
    package func without(_ name: String) -> FormFields {
        var others = self
        others.fields.removeAll { $0.name.hasSameBytes(as: name) }
        return others
    }
}
