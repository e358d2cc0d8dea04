import NIOCore

/// The other end of a connection.
///
/// Nothing else tells where a request comes from: `X-Forwarded-For` and its like are what the sender chose to write.
struct PeerAddress: Sendable {
    /// What failed attempts are counted for: an IPv4 address, or the /64 of an IPv6 address, which one person has all of.
    enum Network: Sendable, Hashable {
        case ipv4(UInt32)
        case ipv6(UInt64)
        case unknown
    }

    let network: Network
    /// For people, in the log and the audit log.
    let text: String

    init(_ address: SocketAddress?) {
        guard let address, let bytes = Self.bytes(of: address), let text = address.ipAddress else {
            network = .unknown
            self.text = "unknown"
            return
        }
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
        if bytes.count == 4 || bytes.starts(with: mapped) {
            network = .ipv4(UInt32(truncatingIfNeeded: Self.number(bytes.suffix(4))))
            self.text = bytes.suffix(4).map { String($0) }.joined(separator: ".")
        } else {
            network = .ipv6(Self.number(bytes.prefix(8)))
            self.text = text
        }
    }

    /// The address in network order, from where `sockaddr_in` and `sockaddr_in6` keep it.
    private static func bytes(of address: SocketAddress) -> [UInt8]? {
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
