/// The fields of a form, or of a query that is as strict.
package struct FormFields: Sendable {
    private var fields: [(name: String, value: String)] = []

    /// Reads the pairs.
    ///
    /// - Parameters:
    ///   - text: The query, or the body of a form.
    ///   - most: How many there may be; 64 is more than any query has a use for.
    /// - Throws: `malformed_request` for text that cannot be decoded, and for too many fields.
    package init(_ text: String, most: Int = 64) throws(Failure) {
        let malformed = Failure(
            .malformedRequest,
            "A form or query must be percent-encoded UTF-8 without NUL, of at most \(most) fields."
        )
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { throw malformed }
        let pairs = EncodedPair.read(text, most: most)
        guard pairs.count <= most else { throw malformed }
        for pair in pairs {
            guard let name = pair.name, let value = pair.value else { throw malformed }
            fields.append((name, value))
        }
    }

    /// All of them, in the order in which they came.
    package var all: [(name: String, value: String)] { fields }

    /// The value of a field, or nil when it is not there.
    ///
    /// - Throws: `malformed_request` when it is there twice: two readers could each take another one.
    package func value(_ name: String) throws(Failure) -> String? {
        let values = fields.filter { $0.name.hasSameBytes(as: name) }.map(\.value)
        guard values.count <= 1 else {
            throw Failure(.malformedRequest, "\(name) is there more than once. Send it once.")
        }
        return values.first
    }

    /// The fields but for those of a name.
    package func without(_ name: String) -> FormFields {
        var others = self
        others.fields.removeAll { $0.name.hasSameBytes(as: name) }
        return others
    }
}
