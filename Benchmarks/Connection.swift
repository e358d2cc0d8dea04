import Glibc

/// A kept-alive HTTP/1.1 connection on a blocking socket: the cheapest client that reads whole responses.
final class Connection {
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 16_384)

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw ConnectionBroken() }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    /// Sends a whole request, reads the whole response and returns its status.
    func exchange(_ request: [UInt8]) throws -> Int { try bytes(of: request).status }

    /// Sends a whole request, reads the whole response and returns its status and body.
    func reply(to request: [UInt8]) throws -> (status: Int, body: String) {
        let (status, bytes) = try bytes(of: request)
        let start = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? bytes.endIndex
        return (status, String(decoding: bytes[start...], as: UTF8.self))
    }

    private func bytes(of request: [UInt8]) throws -> (status: Int, bytes: [UInt8]) {
        var sent = 0
        while sent < request.count {
            let written = request.withUnsafeBytes { bytes in
                send(descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard written > 0 else { throw ConnectionBroken() }
            sent += written
        }
        var reply: [UInt8] = []
        var wanted: Int?
        while wanted.map({ reply.count < $0 }) ?? true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw ConnectionBroken() }
            reply.append(contentsOf: buffer[0..<count])
            if wanted == nil { wanted = Self.length(of: reply) }
        }
        guard reply.count > 12, let status = Int(String(decoding: reply[9..<12], as: UTF8.self)) else {
            throw ConnectionBroken()
        }
        return (status, reply)
    }

    /// Returns the length of head and body together in bytes, once the head is complete.
    private static func length(of reply: [UInt8]) -> Int? {
        let text = String(decoding: reply, as: UTF8.self)
        guard let end = text.utf8.firstRange(of: "\r\n\r\n".utf8) else { return nil }
        let head = text[..<end.lowerBound].lowercased()
        guard let field = head.firstRange(of: "content-length: ") else { return nil }
        let digits = head[field.upperBound...].prefix { $0.isNumber }
        return Int(digits).map { $0 + text.utf8.distance(from: text.startIndex, to: end.upperBound) }
    }
}

struct ConnectionBroken: Error {}
