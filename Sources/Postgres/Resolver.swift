internal import Glibc

/// Turns host names into addresses, outside of the loop: `getaddrinfo` blocks for as long as a name server is silent.
enum Resolver {
    /// Resolves `name` on a thread of its own and calls `deliver` there, with nothing if the name has no address.
    static func resolve(_ name: String, deliver: @escaping @Sendable ([String]) -> Void) {
        let started = Thread.start(name: "postgres-dns") { deliver(addresses(of: name)) }
        if !started { deliver([]) }
    }

    private static func addresses(of name: String) -> [String] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }

        var addresses: [String] = []
        var next = list
        while let entry = next {
            next = entry.pointee.ai_next
            let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer -> String? in
                let status = getnameinfo(
                    entry.pointee.ai_addr,
                    entry.pointee.ai_addrlen,
                    buffer.baseAddress,
                    socklen_t(buffer.count),
                    nil,
                    0,
                    NI_NUMERICHOST
                )
                return status == 0 ? buffer.baseAddress.map { String(cString: $0) } : nil
            }
            // A handful is enough: the attempt has one time limit for all of them.
            if let text, addresses.count < 8, !addresses.contains(text) { addresses.append(text) }
        }
        return addresses
    }
}
