import HTTP
import Vocabulary

/// The query of a request, read strictly: a misspelt filter must not become a list of everything.
struct QueryParameters {
    private let values: [String: String]

    /// Bytes of the longest value, decoded.
    private static let longestValue = 4096

    /// Reads a query.
    ///
    /// - Parameters:
    ///   - query: What stands behind the `?`; nil when nothing does.
    ///   - known: The names that the route takes.
    /// - Throws: `malformed_request` for a name that is unknown or there twice, and for text that cannot be decoded.
    init(_ query: String?, known: [String]) throws(Failure) {
        var values: [String: String] = [:]
        // More pairs than names cannot be right, so a long query is not read to its end.
        for pair in EncodedPair.read(query ?? "", most: known.count, longest: Self.longestValue) {
            guard let text = pair.name, let name = known.first(where: { $0.hasSameBytes(as: text) })
            else {
                let names = known.isEmpty ? "none" : known.joined(separator: ", ")
                let hint = pair.name.map { NearestName.hint(for: $0, among: known) } ?? ""
                throw Failure(.malformedRequest, "A query parameter is not known here\(hint). Known: \(names).")
            }
            guard values[name] == nil else {
                throw Failure(.malformedRequest, "The query parameter \(name) is there twice. Send it once.")
            }
            guard let value = pair.value else {
                throw Failure(
                    .malformedRequest,
                    """
                    The query parameter \(name) must be percent-encoded UTF-8 without NUL, of at most \
                    \(Self.longestValue) bytes.
                    """
                )
            }
            values[name] = value
        }
        self.values = values
    }

    /// The value of a parameter, decoded; nil when it is not there.
    subscript(name: String) -> String? { values[name] }

    /// The value of a parameter that is a whole number.
    ///
    /// - Throws: `malformed_request` when it is there and is none.
    func integer(_ name: String) throws(Failure) -> Int64? {
        guard let text = self[name] else { return nil }
        guard text.utf8.count <= 20, let number = Int64(text) else {
            throw Failure(.malformedRequest, "The query parameter \(name) must be a whole number.")
        }
        return number
    }
}
