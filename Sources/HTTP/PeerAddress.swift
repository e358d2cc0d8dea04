package import Limiting
package import NIOCore

/// Where a request comes from: the other end of the connection, or what the proxies in front say that are trusted.
///
/// `X-Forwarded-For` and its like are what the sender chose to write, but for as many entries at its end as there are
/// trusted proxies: each of them has added the one that it was called by.
package struct PeerAddress: Sendable {
    /// What failed attempts are counted for: an IPv4 address, or the /64 of an IPv6 address, which one person has all
    /// of.
    package enum Network: Sendable, Hashable {
        case ipv4(UInt32)
        case ipv6(UInt64)
        case unknown

        /// A text that is the same for the same network.
        package var name: String {
            switch self {
            case .ipv4(let address): "ipv4 \(address)"
            case .ipv6(let prefix): "ipv6 \(prefix)"
            case .unknown: "unknown"
            }
        }
    }

    /// How many proxies stand in front of the public listener, each of which adds to `X-Forwarded-For` where a request
    /// came from.
    package typealias TrustedProxies = Int

    package let network: Network
    /// For people, in the log and the audit log.
    package let text: String

    /// What limits count it for; nil where the address is not known, so that people behind a socket of this machine are
    /// not taken for one.
    package var limitedSource: LimitedSource? {
        switch network {
        case .ipv4(let address): LimitedSource(address: UInt64(address), network: nil)
        case .ipv6(let prefix): LimitedSource(address: prefix, network: prefix >> 16)
        case .unknown: nil
        }
    }

    /// What stands in front of an IPv4 address that is written as one of IPv6 (RFC 4291, section 2.5.5.2).
    static let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    package init(_ address: SocketAddress?) {
        guard let address, let bytes = Self.bytes(of: address), let text = address.ipAddress else {
            network = .unknown
            self.text = "unknown"
            return
        }
        if bytes.count == 4 || bytes.starts(with: Self.mapped) {
            network = .ipv4(UInt32(truncatingIfNeeded: Self.number(bytes.suffix(4))))
            self.text = bytes.suffix(4).map { String($0) }.joined(separator: ".")
        } else {
            network = .ipv6(Self.number(bytes.prefix(8)))
            self.text = text
        }
    }

    /// Finds the address behind the trusted proxies.
    ///
    /// A request with fewer entries than there are proxies did not come through all of them; the first entry is then
    /// the furthest that is known. What is no address, and a request without an entry, counts for the connection that
    /// it came by.
    ///
    /// - Parameters:
    ///   - forwarded: The fields `X-Forwarded-For`, in the order in which they stand.
    ///   - proxies: How many are trusted; with none the fields say nothing.
    ///   - peer: The other end of the connection.
    init(forwarded: [String], behind proxies: TrustedProxies, of peer: SocketAddress?) {
        let entries = forwarded.flatMap {
            $0.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        }
        let entry = proxies > 0 ? entries.suffix(proxies).first : nil
        self.init(entry.flatMap { Self.address(in: $0) } ?? peer)
    }

    /// Reads `192.0.2.7`, `192.0.2.7:80`, `2001:db8::1` or `[2001:db8::1]:80`.
    private static func address(in entry: Substring.UTF8View) -> SocketAddress? {
        guard entry.count <= 64 else { return nil }
        var text = entry.filter { $0 != 0x20 && $0 != 0x09 && $0 != UInt8(ascii: "\"") }[...]
        if text.first == UInt8(ascii: "[") {
            text = text.dropFirst().prefix { $0 != UInt8(ascii: "]") }
        } else if text.count(where: { $0 == UInt8(ascii: ":") }) == 1 {
            text = text.prefix { $0 != UInt8(ascii: ":") }
        }
        return try? SocketAddress(ipAddress: String(decoding: text, as: UTF8.self), port: 0)
    }

    /// The address in network order, from where `sockaddr_in` and `sockaddr_in6` keep it.
    static func bytes(of address: SocketAddress) -> [UInt8]? {
        let place: Range<Int>
        switch address {
        case .v4: place = 4..<8
        case .v6: place = 8..<24
        case .unixDomainSocket: return nil
        }
        return address.withSockAddr { pointer, size in
            guard place.upperBound <= size else { return nil }
            return Array(UnsafeRawBufferPointer(start: pointer, count: size)[place])
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
