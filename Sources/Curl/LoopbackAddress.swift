internal import Glibc

/// The addresses that never leave this machine.
enum LoopbackAddress {
    /// Whether `address` is in 127.0.0.0/8.
    static func contains(_ address: in_addr) -> Bool {
        UInt32(bigEndian: address.s_addr) >> 24 == 127
    }

    /// Whether `address` is `::1`.
    static func contains(_ address: in6_addr) -> Bool {
        withUnsafeBytes(of: address) { bytes in
            bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
        }
    }

    /// Whether a socket address is one of them.
    static func contains(_ address: UnsafePointer<sockaddr>, length: socklen_t) -> Bool {
        let bytes = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET where Int(length) >= MemoryLayout<sockaddr_in>.size:
            return contains(bytes.loadUnaligned(as: sockaddr_in.self).sin_addr)
        case AF_INET6 where Int(length) >= MemoryLayout<sockaddr_in6>.size:
            return contains(bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
        default:
            return false
        }
    }
}
