import Vocabulary

/// Path and query of a request, written as bytes so that nothing in a value can become a part of the syntax.
struct Target {
    private var path: [UInt8]
    private var query = Parameters()

    /// Begins with a path that was checked before, and adds segments, encoded.
    init(_ base: String, _ segments: [String]) {
        path = Array(base.utf8)
        for segment in segments where !segment.utf8.isEmpty {
            path.append(UInt8(ascii: "/"))
            PercentEncoding.append(segment, to: &path)
        }
    }

    /// Adds a parameter; its name is one of ours, its value may be anything.
    mutating func add(_ name: StaticString, _ value: String) {
        query.add(name, value)
    }

    /// Adds the parameters of a proof.
    mutating func add(_ proof: AppSecretProof) {
        query.add(proof)
    }

    var text: String {
        let query = query.bytes.isEmpty ? [] : [UInt8(ascii: "?")] + query.bytes
        return String(decoding: path + query, as: UTF8.self)
    }
}
