import Vocabulary

/// `name=value` pairs of a query or a form, written as bytes so that nothing in a value can become a part of the
/// syntax.
struct Parameters {
    private(set) var bytes: [UInt8] = []

    /// Adds a parameter; its name is one of ours, its value may be anything.
    mutating func add(_ name: StaticString, _ value: String) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "="))
        PercentEncoding.append(value, to: &bytes)
    }

    /// Adds the parameters of a proof.
    mutating func add(_ proof: AppSecretProof) {
        add("appsecret_proof", proof.value)
        if let time = proof.time { add("appsecret_time", String(time)) }
    }
}
