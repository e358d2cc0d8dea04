import Foundation
import Glibc

/// A TCP server that runs a script for each connection, on a thread of its own.
///
/// `@unchecked Sendable`: the lock guards all mutable state.
final class ScriptedServer: @unchecked Sendable {
    typealias Script = @Sendable (ScriptedConnection) -> Void

    let port: UInt16
    private let listener: Int32
    private let script: Script
    private let lock = NSLock()
    private var open: Set<Int32> = []
    private var requestsSeen: [String] = []
    private var accepted = 0
    private var maxOpen = 0
    private var isStopped = false

    init(backlog: Int32 = 1024, _ script: @escaping Script) throws {
        self.script = script
        (listener, port) = try Self.bindToLoopback()
        guard listen(listener, backlog) == 0 else { throw Failure.system(errno) }
        Thread.detachNewThread { [self] in acceptAll() }
    }

    enum Failure: Error {
        case system(Int32)
    }

    /// Returns a bound socket that does not listen, and its port.
    static func bindToLoopback() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system(errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard result else {
            let reason = errno
            Glibc.close(descriptor)
            throw Failure.system(reason)
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// Returns a port on which nothing listens, unless another program takes it meanwhile.
    static func freePort() throws -> UInt16 {
        let (descriptor, port) = try bindToLoopback()
        Glibc.close(descriptor)
        return port
    }

    /// The heads and bodies of all requests that scripts have read completely.
    var requests: [String] { lock.withLock { requestsSeen } }
    var connections: Int { lock.withLock { accepted } }
    var openConnections: Int { lock.withLock { open.count } }
    /// The most connections that were open at one time.
    var peak: Int { lock.withLock { maxOpen } }

    /// Stops listening and shuts the open connections down, which ends their scripts.
    func stop() {
        lock.withLock {
            guard !isStopped else { return }
            isStopped = true
            shutdown(listener, Int32(SHUT_RDWR))
            for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    deinit { stop() }

    fileprivate func note(_ request: String) {
        lock.withLock { requestsSeen.append(request) }
    }

    fileprivate func close(_ descriptor: Int32) {
        lock.withLock {
            open.remove(descriptor)
            _ = Glibc.close(descriptor)
        }
    }

    private func acceptAll() {
        while true {
            var listening = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            poll(&listening, 1, -1)
            let descriptor = Program.descriptors.withLock {
                let descriptor = accept(listener, nil, nil)
                Program.keepFromChildren(descriptor)
                return descriptor
            }
            guard descriptor >= 0 else { break }
            lock.withLock {
                accepted += 1
                open.insert(descriptor)
                maxOpen = max(maxOpen, open.count)
            }
            let thread = Thread { [self] in
                let connection = ScriptedConnection(descriptor, of: self)
                script(connection)
                connection.close()
            }
            thread.stackSize = 256 * 1024
            thread.start()
        }
        Glibc.close(listener)
    }
}

/// The server's end of one connection; only its own thread uses it.
final class ScriptedConnection {
    private let descriptor: Int32
    private let server: ScriptedServer
    private var buffer: [UInt8] = []
    private var isOpen = true

    fileprivate init(_ descriptor: Int32, of server: ScriptedServer) {
        self.descriptor = descriptor
        self.server = server
    }

    /// The number of connections that the server has accepted so far, this one included.
    var ordinal: Int { server.connections }

    /// Reads one request with the body that its `Content-Length` announces; nil when the connection ends first.
    @discardableResult
    func readRequest() -> String? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let head = buffer.firstRange(of: end) {
                let text = String(decoding: buffer[..<head.lowerBound], as: UTF8.self)
                let length = text.split(separator: "\r\n").compactMap { line -> Int? in
                    let parts = line.split(separator: ":", maxSplits: 1)
                    guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
                    return Int(parts[1].trimmingCharacters(in: .whitespaces))
                }
                let total = head.upperBound + (length.first ?? 0)
                if buffer.count >= total {
                    let request = String(decoding: buffer[..<total], as: UTF8.self)
                    buffer.removeFirst(total)
                    server.note(request)
                    return request
                }
            }
            guard readSome() else { return nil }
        }
    }

    /// Reads at most `count` bytes; nil at the end of the connection.
    func read(atMost count: Int) -> [UInt8]? {
        var piece = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &piece, count, 0)
        return received > 0 ? Array(piece[..<received]) : nil
    }

    private func readSome() -> Bool {
        guard let piece = read(atMost: 65536) else { return false }
        buffer += piece
        return true
    }

    /// Writes all bytes; returns false when the client has closed the connection.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let sent = bytes[offset...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return false }
            offset += sent
        }
        return true
    }

    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Writes a response with `Content-Length`.
    @discardableResult
    func reply(_ body: String = "ok", status: String = "200 OK", headers: String = "") -> Bool {
        write("HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Waits until the client closes the connection.
    func waitForClose() {
        while read(atMost: 4096) != nil {}
    }

    /// Closes the connection with RST instead of FIN.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        server.close(descriptor)
    }
}
