internal import Glibc

/// Resolves host names on threads outside of the event loop.
///
/// The system's function `getaddrinfo` blocks its thread for as long as a name server does not respond.
enum Resolver {
    /// The result of resolving a host name.
    struct Resolution: Sendable {
        var addresses: [String] = []
        /// The system's error message if the name has no addresses.
        var problem: String?
        /// Whether the name servers have responded that there are no addresses.
        var isFinal = false
    }

    /// Resolves `name` on a new thread, and calls `deliver` with the result there.
    ///
    /// If no thread can be created, calls `deliver` on the current thread, without addresses.
    static func resolve(_ name: String, deliver: @escaping @Sendable (Resolution) -> Void) {
        let started = Thread.start(name: "postgres-dns") { deliver(resolution(of: name)) }
        if !started { deliver(Resolution()) }
    }

    private static func resolution(of name: String) -> Resolution {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &list)
        guard status == 0 else {
            return Resolution(
                problem: gai_strerror(status).map { String(cString: $0) },
                isFinal: status == EAI_NONAME || status == noAddress
            )
        }
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
            // Eight addresses are enough: the attempt has one time limit for all of them.
            if let text, addresses.count < 8, !addresses.contains(text) { addresses.append(text) }
        }
        return Resolution(addresses: addresses)
    }

    /// `EAI_NODATA`, which glibc declares only under `_GNU_SOURCE`: the name exists and has no address.
    private static let noAddress: Int32 = -5
}
