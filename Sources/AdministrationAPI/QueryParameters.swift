import Description
import Domain
import Encodings
import HTTP

/// The query parameters of a request.
///
/// Unknown parameters are refused: a misspelt filter must not return everything.
struct QueryParameters {
    private let values: [String: String]

    /// The maximum size of a decoded value in bytes.
    private static let longestValue = 4096

    /// Reads a query.
    ///
    /// - Parameters:
    ///   - query: The part after the `?`; nil if there is none.
    ///   - known: The parameters of the route.
    /// - Throws: `malformed_request` for an unknown or repeated name, and for text that cannot be decoded.
    init(_ query: String?, known: [Parameter]) throws(Failure) {
        let known = known.map(\.name)
        var values: [String: String] = [:]
        // More pairs than names are an error. A long query is therefore not read to its end.
        for pair in EncodedPair.read(query ?? "", max: known.count, longest: Self.longestValue) {
            guard let text = pair.name, let name = known.first(where: { $0.hasSameBytes(as: text) })
            else {
                let names = known.isEmpty ? "none" : known.joined(separator: ", ")
                let hint = pair.name.map { NearestName.hint(for: $0, among: known) } ?? ""
                throw Failure(.malformedRequest, "A query parameter is not known\(hint). Known parameters: \(names).")
            }
            guard values[name] == nil else {
                throw Failure(.malformedRequest, "The query parameter \(name) is repeated. Send it once.")
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

    /// The decoded value of a parameter; nil when it is absent.
    subscript(parameter: Parameter) -> String? { values[parameter.name] }

    /// Returns the value of an integer parameter.
    ///
    /// - Throws: `malformed_request` for any other value.
    func integer(_ parameter: Parameter) throws(Failure) -> Int64? {
        guard let text = self[parameter] else { return nil }
        guard text.utf8.count <= 20, let number = Int64(text) else {
            throw Failure(.malformedRequest, "The query parameter \(parameter.name) must be a whole number.")
        }
        return number
    }
}
