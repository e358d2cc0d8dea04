package import Hummingbird
import Vocabulary

extension Request {
    /// The host that the client called, without a port and in lower case; nil when it named none.
    ///
    /// Forwarded names are not believed.
    package var hostName: Substring? {
        guard let host = head.authority?.utf8, host.count <= 300 else { return nil }
        let lowered = host.map(\.asciiLowercased)
        // The colons of an IPv6 address stand in brackets.
        let port = lowered.lastIndex(of: UInt8(ascii: ":")).flatMap { colon in
            lowered[colon...].dropFirst().allSatisfy(\.isASCIIDigit) ? colon : nil
        }
        return String(decoding: lowered[..<(port ?? lowered.endIndex)], as: UTF8.self)[...]
    }
}
