internal import CLibCurl
internal import Glibc

/// Recognizes loopback addresses, whose traffic never leaves this machine.
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

    /// Whether the address that libcurl is about to connect to is a loopback address.
    static func contains(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
        let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
        let target = (UnsafeRawPointer(address) + offset).assumingMemoryBound(to: sockaddr.self)
        return contains(target, length: socklen_t(address.pointee.addrlen))
    }

    /// Whether a host name or address, as libcurl's parser returns it, is certain to be this machine.
    ///
    /// libcurl resolves `localhost` to the loopback addresses without a name server.
    static func contains(host: String) -> Bool {
        if host.utf8.elementsEqual("localhost".utf8) { return true }
        var v4 = in_addr()
        if inet_pton(AF_INET, host, &v4) == 1 { return contains(v4) }
        guard host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") else { return false }
        var v6 = in6_addr()
        return inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &v6) == 1 && contains(v6)
    }

    /// Whether a socket address is a loopback address.
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
