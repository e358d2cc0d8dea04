import Glibc
import NIOConcurrencyHelpers

/// An error: many ports were tried, and none was free.
package struct NoFreePort: Error {}

/// Returns a free TCP port on the loopback interface, and never the same port twice in one process.
///
/// The port is below the kernel's ephemeral range. So a server can stop and restart on the port, and no outgoing
/// connection takes the port meanwhile.
package func freePort() throws -> Int {
    for _ in 0..<1000 {
        let port = UInt16.random(in: 20_000..<32_000)
        if canBind(port), handedOut.withLockedValue({ $0.insert(port).inserted }) { return Int(port) }
    }
    throw NoFreePort()
}

private let handedOut = NIOLockedValueBox<Set<UInt16>>([])

private func canBind(_ port: UInt16) -> Bool {
    let descriptor = loopbackSocket()
    defer { close(descriptor) }
    return withLoopbackAddress(port) { bind(descriptor, $0, $1) == 0 }
}

/// Opens a TCP socket for IPv4; returns a negative number on failure.
func loopbackSocket() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
}

/// Calls a closure with the socket address of a port on 127.0.0.1.
func withLoopbackAddress<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}
