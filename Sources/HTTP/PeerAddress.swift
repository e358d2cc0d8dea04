package import Limiting
package import NIOCore

/// The source of a request: the peer of the connection, or the client's address as trusted proxies report it.
///
/// The sender of a request can write any text into `X-Forwarded-For`. Only the last entries are reliable, one for each
/// trusted proxy, since each trusted proxy appends the address of its own client.
package struct PeerAddress: Sendable {
    /// The unit for which failed attempts are counted: an IPv4 address, or the /64 of an IPv6 address.
    ///
    /// All addresses of a /64 belong to one user.
    package enum Network: Sendable, Hashable {
        case ipv4(UInt32)
        case ipv6(UInt64)
        case unknown

        /// A text that identifies the network.
        package var name: String {
            switch self {
            case .ipv4(let address): "ipv4 \(address)"
            case .ipv6(let prefix): "ipv6 \(prefix)"
            case .unknown: "unknown"
            }
        }
    }

    /// The number of trusted proxies in front of the public listener.
    ///
    /// Each trusted proxy adds the address of its client to `X-Forwarded-For`.
    package typealias TrustedProxies = Int

    package let network: Network
    /// The address as a text, for the log and the audit log.
    package let text: String

    /// The source for which rate limits and connection limits count the request; nil for an unknown address.
    ///
    /// The clients of a Unix socket have an unknown address, so they do not count as one source.
    package var limitedSource: LimitedSource? {
        switch network {
        case .ipv4(let address): LimitedSource(address: UInt64(address), network: nil)
        case .ipv6(let prefix): LimitedSource(address: prefix, network: prefix >> 16)
        case .unknown: nil
        }
    }

    /// The prefix of an IPv4 address that is mapped into IPv6 (RFC 4291, section 2.5.5.2).
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

    /// Reads the address of the client in front of all trusted proxies from `X-Forwarded-For`.
    ///
    /// Each trusted proxy has appended one entry, so the address is in the entry at position `proxies`, counted from
    /// the end. If there are fewer entries, the request did not come through all proxies, and the first entry is used.
    /// If there is no entry, or the entry is no address, the result is the peer of the connection.
    ///
    /// - Parameters:
    ///   - forwarded: The values of `X-Forwarded-For`, in their order.
    ///   - proxies: How many proxies are trusted; with 0 the values are ignored.
    ///   - peer: The peer of the connection.
    init(forwarded: [String], behind proxies: TrustedProxies, of peer: SocketAddress?) {
        let entries = forwarded.flatMap {
            $0.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        }
        let entry = proxies > 0 ? entries.suffix(proxies).first : nil
        self.init(entry.flatMap { Self.address(in: $0) } ?? peer)
    }

    /// Parses an entry such as `192.0.2.7`, `192.0.2.7:80`, `2001:db8::1` or `[2001:db8::1]:80`.
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

    /// Returns the bytes of an IP address in network order; nil for a Unix socket.
    ///
    /// The bytes are copied from the address field of `sockaddr_in` or `sockaddr_in6`.
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
