import Encodings
package import Hummingbird

extension Request {
    /// The host that the client requested, without port and in lower case; nil when the request names none.
    ///
    /// Forwarded host names are not trusted.
    package var hostName: Substring? {
        guard let host = head.authority?.utf8, host.count <= 300 else { return nil }
        let lowered = host.map(\.asciiLowercased)
        // The colons of an IPv6 address are in brackets.
        let port = lowered.lastIndex(of: UInt8(ascii: ":")).flatMap { colon in
            lowered[colon...].dropFirst().allSatisfy(\.isASCIIDigit) ? colon : nil
        }
        return String(decoding: lowered[..<(port ?? lowered.endIndex)], as: UTF8.self)[...]
    }
}
