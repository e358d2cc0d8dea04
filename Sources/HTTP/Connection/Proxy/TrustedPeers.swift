import NIOCore

/// The proxies that may name a connection's source by the PROXY protocol: networks, and peers of Unix sockets.
package struct TrustedPeers: Sendable, Equatable {
    private struct Network: Sendable, Equatable {
        let address: [UInt8]
        let bits: Int

        /// Returns whether an address is in the network.
        func contains(_ other: [UInt8]) -> Bool {
            guard other.count == address.count else { return false }
            let whole = bits / 8
            guard other.prefix(whole).elementsEqual(address.prefix(whole)) else { return false }
            guard bits % 8 > 0 else { return true }
            let mask = UInt8(truncatingIfNeeded: 0xFF << (8 - bits % 8))
            return zip(other.dropFirst(whole), address.dropFirst(whole)).prefix(1).allSatisfy { $0 & mask == $1 & mask }
        }
    }

    private let networks: [Network]
    private let takesUnixSockets: Bool

    /// Parses a list such as `10.0.0.0/8, 192.0.2.7, 2001:db8::/32, unix`.
    ///
    /// - Returns: Nil when an entry has another form, and for an empty list.
    package init?(_ text: String) {
        var (networks, takesUnixSockets) = ([Network](), false)
        for part in text.split(separator: ",") {
            let entry = part.filter { $0 != " " }
            if entry == "unix" {
                takesUnixSockets = true
                continue
            }
            let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count <= 2, let first = parts.first,
                let address = try? SocketAddress(ipAddress: String(first), port: 0),
                let bytes = PeerAddress.bytes(of: address)
            else { return nil }
            let bits = parts.count == 2 ? Int(parts[1]) : bytes.count * 8
            guard let bits, (0...bytes.count * 8).contains(bits) else { return nil }
            networks.append(Network(address: bytes, bits: bits))
        }
        guard takesUnixSockets || !networks.isEmpty else { return nil }
        self.networks = networks
        self.takesUnixSockets = takesUnixSockets
    }

    func contains(_ peer: SocketAddress?) -> Bool {
        switch peer {
        case .unixDomainSocket?: return takesUnixSockets
        case let address?:
            guard let bytes = PeerAddress.bytes(of: address) else { return false }
            // A dual-stack listener sees IPv4 addresses as mapped into IPv6.
            let plain = bytes.starts(with: PeerAddress.mapped) ? Array(bytes.suffix(4)) : bytes
            return networks.contains { $0.contains(plain) || $0.contains(bytes) }
        case nil: return false
        }
    }
}
