import Encodings

/// The `name=value` pairs of a query or a form.
///
/// Values are percent-encoded byte by byte, so that no value can become part of the syntax.
struct Parameters {
    private(set) var bytes: [UInt8] = []

    /// Adds a parameter.
    ///
    /// Its name is a constant, and its value may be any text.
    mutating func add(_ name: StaticString, _ value: String) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "="))
        PercentEncoding.append(value, to: &bytes)
    }

    mutating func add(_ proof: AppSecretProof) {
        add("appsecret_proof", proof.value)
        if let time = proof.time { add("appsecret_time", String(time)) }
    }
}
