import Encodings
import Providers

/// The path and query of a request.
///
/// Values are percent-encoded byte by byte, so that no value can become part of the syntax.
struct Target {
    private var path: [UInt8]
    private var query = Parameters()

    /// Creates a target from a base path and further segments.
    ///
    /// The base path is already checked. The segments are percent-encoded here, and empty ones are left out.
    init(_ base: String, _ segments: [String]) {
        path = Array(base.utf8)
        for segment in segments where !segment.utf8.isEmpty {
            path.append(UInt8(ascii: "/"))
            PercentEncoding.append(segment, to: &path)
        }
    }

    /// Adds a parameter.
    ///
    /// Its name is a constant, and its value may be any text.
    mutating func add(_ name: StaticString, _ value: String) {
        query.add(name, value)
    }

    mutating func add(_ proof: AppSecretProof) {
        query.add(proof)
    }

    var text: String {
        let query = query.bytes.isEmpty ? [] : [UInt8(ascii: "?")] + query.bytes
        return String(decoding: path + query, as: UTF8.self)
    }
}
