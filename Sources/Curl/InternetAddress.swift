internal import CLibCurl
internal import Glibc

/// Recognizes addresses of the public internet.
///
/// All others may lead into the operator's own network, where a server may answer a request that comes from inside, or
/// to the metadata of a cloud.
enum InternetAddress {
    /// Whether the address that libcurl is about to connect to is one of the public internet.
    static func contains(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
        let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
        let bytes = UnsafeRawPointer(address) + offset
        let length = Int(address.pointee.addrlen)
        switch Int32(bytes.loadUnaligned(as: sockaddr.self).sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            let address = bytes.loadUnaligned(as: sockaddr_in.self).sin_addr
            return contains(v4: UInt32(bigEndian: address.s_addr))
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let address = bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: address) { contains(v6: Array($0)) }
        default:
            return false
        }
    }

    /// The blocks of IPv4 that are not public (RFC 6890): prefix and its number of bits.
    private static let otherBlocks: [(prefix: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16),
        (0xAC10_0000, 12), (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16),
        (0xC612_0000, 15), (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 3),
    ]

    static func contains(v4 address: UInt32) -> Bool {
        !otherBlocks.contains { block in address >> (32 - block.bits) == block.prefix >> (32 - block.bits) }
    }

    /// Whether 16 bytes are a public address of IPv6: a global unicast address (2000::/3) that leads to no other one.
    static func contains(v6 bytes: [UInt8]) -> Bool {
        // An IPv4 address within IPv6 (RFC 4291 §2.5.5.2) is what it is.
        if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
            return contains(v4: bytes.suffix(4).reduce(0) { $0 << 8 | UInt32($1) })
        }
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        // Tunnels to IPv4 (2002::/16, 2001::/32) and documentation (2001:db8::/32).
        if bytes[0] == 0x20, bytes[1] == 0x02 { return false }
        if bytes[0] == 0x20, bytes[1] == 0x01, bytes[2] == 0x00, bytes[3] == 0x00 { return false }
        return !(bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] == 0x0D && bytes[3] == 0xB8)
    }
}
