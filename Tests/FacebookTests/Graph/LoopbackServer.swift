import Foundation
import Glibc

/// An HTTP/1.1 server on a loopback port for GET requests; a closure returns the response to each.
///
/// There is one thread per connection; `@unchecked Sendable` because `lock` guards all mutable state.
final class LoopbackServer: @unchecked Sendable {
    struct Request: Sendable {
        /// The path and query as received.
        let target: String
        /// The header lines as received.
        let headers: [String]

        var path: String { String(target.prefix { $0 != "?" }) }

        /// The parameters of the query, still encoded.
        var parameters: [String] {
            target.split(separator: "?", maxSplits: 1).dropFirst().flatMap { $0.split(separator: "&") }.map(String.init)
        }

        func header(_ name: String) -> String? {
            headers.first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
        }
    }

    enum Answer: Sendable {
        case reply(Int, String, headers: [String] = [])
        case reset
        /// Keeps the connection open without a response.
        case silence
    }

    let port: UInt16
    private let listener: Int32
    private let answer: @Sendable (Request) -> Answer
    private let lock = NSLock()
    private var log: [Request] = []
    private var descriptors: Set<Int32> = []

    init(_ answer: @escaping @Sendable (Request) -> Answer) throws {
        self.answer = answer
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutableBytes(of: &address) { bytes -> Bool in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return bind(listener, base, length) == 0 && listen(listener, 4096) == 0
                && getsockname(listener, base, &length) == 0
        }
        guard bound else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: address.sin_port)
        self.listener = listener
        Thread.detachNewThread { [self] in acceptAll() }
    }

    var url: String { "http://127.0.0.1:\(port)" }

    var requests: [Request] { lock.withLock { log } }

    /// Shuts all sockets down; the threads end with their connections.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        lock.withLock { descriptors.forEach { shutdown($0, Int32(SHUT_RDWR)) } }
    }

    private func acceptAll() {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { break }
            lock.withLock { _ = descriptors.insert(connection) }
            Thread.detachNewThread { [self] in serve(connection) }
        }
        close(listener)
    }

    private func serve(_ connection: Int32) {
        var buffer: [UInt8] = []
        while let request = read(from: connection, &buffer) {
            lock.withLock { log.append(request) }
            switch answer(request) {
            case .reply(let status, let body, let headers):
                let head = ["HTTP/1.1 \(status) X", "Content-Length: \(body.utf8.count)"] + headers
                guard write(Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8), to: connection) else {
                    break
                }
            case .reset:
                var linger = linger(l_onoff: 1, l_linger: 0)
                setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
                return end(connection)
            case .silence:
                continue
            }
        }
        end(connection)
    }

    private func read(from connection: Int32, _ buffer: inout [UInt8]) -> Request? {
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            if let end = buffer.firstRange(of: Array("\r\n\r\n".utf8)) {
                let lines = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                buffer.removeSubrange(..<end.upperBound)
                let words = lines[0].split(separator: " ")
                return Request(target: words.count > 1 ? String(words[1]) : "", headers: Array(lines.dropFirst()))
            }
            let count = recv(connection, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            buffer.append(contentsOf: chunk[..<count])
        }
    }

    private func write(_ bytes: [UInt8], to connection: Int32) -> Bool {
        send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private func end(_ connection: Int32) {
        lock.withLock { _ = descriptors.remove(connection) }
        close(connection)
    }
}
