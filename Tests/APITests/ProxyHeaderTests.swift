import NIOCore
import Testing

@testable import HTTP

@Suite("Where a connection came from, by the PROXY protocol")
struct ProxyHeaderTests {
    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let ipv4: [UInt8] = [192, 0, 2, 7, 10, 0, 0, 1, 0x1F, 0x90, 0x01, 0xBB]
    private static let ipv6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [7] + Array(repeating: 0, count: 16)
        + [0x1F, 0x90, 0x01, 0xBB]

    private static func header(_ kind: UInt8, _ family: UInt8, _ rest: [UInt8], length: Int? = nil) -> [UInt8] {
        let length = length ?? rest.count
        return signature + [kind, family, UInt8(length >> 8), UInt8(length & 0xFF)] + rest
    }

    private static func source(_ text: String) throws -> SocketAddress {
        try SocketAddress(ipAddress: text, port: 8080)
    }

    @Test("an address of either family is taken, whatever stands behind it")
    func addresses() throws {
        let cases: [([UInt8], SocketAddress?)] = [
            (Self.header(0x21, 0x11, Self.ipv4), try Self.source("192.0.2.7")),
            (Self.header(0x21, 0x21, Self.ipv6), try Self.source("2001:db8::7")),
            // A TLV field of the proxy after the addresses.
            (Self.header(0x21, 0x11, Self.ipv4 + [0x04, 0, 2, 0, 0]), try Self.source("192.0.2.7")),
            // The proxy's own connections, such as health checks, and connections of no network.
            (Self.header(0x20, 0x00, []), nil), (Self.header(0x20, 0x11, Self.ipv4), nil),
            (Self.header(0x20, 0x7F, [1, 2, 3]), nil), (Self.header(0x21, 0x00, []), nil),
            (Self.header(0x21, 0x31, Array(repeating: 0x2F, count: 216)), nil),
        ]
        for (bytes, source) in cases {
            let whole = ProxyHeader.whole(length: bytes.count, source: source)
            #expect(ProxyHeader.read(ByteBuffer(bytes: bytes)) == whole)
            #expect(ProxyHeader.read(ByteBuffer(bytes: bytes + Array("GET / HTTP/1.1".utf8))) == whole)
            for count in 0..<bytes.count {
                #expect(ProxyHeader.read(ByteBuffer(bytes: bytes.prefix(count))) == .incomplete, "\(count) of \(bytes)")
            }
        }
    }

    @Test("everything else is refused, as early as it shows")
    func faults() {
        let cases: [([UInt8], ProxyHeader.Fault)] = [
            (Array("GET / HTTP/1.1".utf8), .none), ([0x16, 3, 1], .none), ([0x0D, 0x0A, 0x0D, 0x0B], .none),
            (Array("PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n".utf8), .version1), (Array("PROXY ".utf8), .version1),
            (Array("PROXZ".utf8), .none),
            (Self.header(0x11, 0x11, Self.ipv4), .version), (Self.header(0x31, 0x11, Self.ipv4), .version),
            (Self.header(0x22, 0x11, Self.ipv4), .command), (Self.header(0x2F, 0x11, Self.ipv4), .command),
            (Self.header(0x21, 0x12, Self.ipv4), .family), (Self.header(0x21, 0x22, Self.ipv6), .family),
            (Self.header(0x21, 0x10, Self.ipv4), .family), (Self.header(0x21, 0x41, Self.ipv4), .family),
            (Self.header(0x21, 0x11, Array(Self.ipv4.dropLast())), .short),
            (Self.header(0x21, 0x21, Self.ipv4), .short), (Self.header(0x21, 0x31, Self.ipv6), .short),
            (Self.header(0x21, 0x11, [], length: 2033), .long), (Self.header(0x20, 0, [], length: 65_535), .long),
        ]
        for (bytes, fault) in cases {
            #expect(ProxyHeader.read(ByteBuffer(bytes: bytes)) == .faulty(fault), "\(bytes)")
        }
    }

    @Test("only who is in the list is trusted")
    func peers() throws {
        let peers = try #require(TrustedPeers("10.0.0.0/9, 192.0.2.7,2001:db8::/33"))
        let cases = [
            ("10.0.0.1", true), ("10.127.255.255", true), ("10.128.0.0", false), ("11.0.0.1", false),
            ("192.0.2.7", true), ("192.0.2.8", false), ("::ffff:10.0.0.1", true), ("::ffff:10.128.0.1", false),
            ("2001:db8:7fff::1", true), ("2001:db8:8000::1", false),
        ]
        for (address, isTrusted) in cases {
            #expect(peers.contains(try SocketAddress(ipAddress: address, port: 1)) == isTrusted, "\(address)")
        }
        let socket = try SocketAddress(unixDomainSocketPath: "/x")
        #expect(!peers.contains(socket))
        #expect(!peers.contains(nil))
        #expect(TrustedPeers("unix")?.contains(socket) == true)
        #expect(try TrustedPeers("0.0.0.0/0")?.contains(SocketAddress(ipAddress: "::1", port: 1)) == false)
        for text in ["", ",", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/x", "10.0.0.0/8/8", "a.example", "::1/129", "/8"]
        {
            #expect(TrustedPeers(text) == nil, "\(text)")
        }
    }
}
