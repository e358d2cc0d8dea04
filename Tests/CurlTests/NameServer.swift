import Foundation
import Glibc

/// A DNS server on port 53 of the loopback address, for use within a network namespace only.
///
/// `@unchecked Sendable`: the lock guards the answers, and only one thread uses the socket after `init`.
final class NameServer: @unchecked Sendable {
    enum Answer {
        case address(String)
        /// A response code other than 0: 2 SERVFAIL, 3 NXDOMAIN.
        case failure(UInt8)
        case silence
    }

    private let descriptor: Int32
    private let lock = NSLock()
    private var answers: [String: Answer] = [:]
    private var asked: [String] = []

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw ScriptedServer.Failure.system(errno) }
        Thread.detachNewThread { [self] in serve() }
    }

    func answer(_ name: String, _ answer: Answer) {
        lock.withLock { answers[name] = answer }
    }

    /// Returns how often a client has asked for the address of a name.
    func questions(for name: String) -> Int {
        lock.withLock { asked.count { $0 == name } }
    }

    private func serve() {
        var packet = [UInt8](repeating: 0, count: 512)
        while true {
            var client = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            withUnsafeMutablePointer(to: &client) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                    let count = recvfrom(descriptor, &packet, packet.count, 0, generic, &length)
                    guard count > 12, let reply = reply(to: Array(packet[..<count])) else { return }
                    _ = sendto(descriptor, reply, reply.count, 0, generic, length)
                }
            }
        }
    }

    /// Returns the response to a packet with one question, RFC 1035 §4; nil for silence.
    private func reply(to query: [UInt8]) -> [UInt8]? {
        var labels: [String] = []
        var offset = 12
        while offset < query.count, query[offset] > 0 {
            let end = offset + 1 + Int(query[offset])
            guard end < query.count else { return nil }
            labels.append(String(decoding: query[(offset + 1)..<end], as: UTF8.self))
            offset = end
        }
        let questionEnd = offset + 5
        guard questionEnd <= query.count else { return nil }
        let wantsIPv4 = query[offset + 2] == 1
        let name = labels.joined(separator: ".").lowercased()
        let answer = lock.withLock {
            if wantsIPv4 { asked.append(name) }
            return answers[name] ?? .failure(3)
        }
        var code: UInt8 = 0
        var record: [UInt8] = []
        switch answer {
        case .silence: return nil
        case .failure(let failure): code = failure
        case .address(let text):
            if wantsIPv4 {
                // A pointer to the name in the question, type A, class IN, TTL 0, four bytes.
                let octets = text.split(separator: ".").compactMap { UInt8($0) }
                record = [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4] + octets
            }
        }
        let header = [query[0], query[1], 0x81, 0x80 | code, 0, 1, 0, record.isEmpty ? 0 : 1, 0, 0, 0, 0]
        return header + query[12..<questionEnd] + record
    }
}
