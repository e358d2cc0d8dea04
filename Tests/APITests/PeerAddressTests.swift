import NIOCore
import Testing

@testable import HTTP

@Suite("Where a request comes from")
struct PeerAddressTests {
    @Test(
        "T-80: IPv4 is counted by address, IPv6 by /64 however it is written, and a mapped address is the IPv4 one",
        arguments: [
            ("192.0.2.7", PeerAddress.Network.ipv4(0xC000_0207), "192.0.2.7"),
            ("255.255.255.255", .ipv4(0xFFFF_FFFF), "255.255.255.255"),
            ("::ffff:192.0.2.7", .ipv4(0xC000_0207), "192.0.2.7"),
            ("::ffff:c000:207", .ipv4(0xC000_0207), "192.0.2.7"),
            ("2001:db8:1:2::1", .ipv6(0x2001_0db8_0001_0002), "2001:db8:1:2::1"),
            ("2001:DB8:1:2:ffff:ffff:ffff:ffff", .ipv6(0x2001_0db8_0001_0002), "2001:db8:1:2:ffff:ffff:ffff:ffff"),
            ("2001:0db8:0001:0002:0000::0001", .ipv6(0x2001_0db8_0001_0002), "2001:db8:1:2::1"),
            ("2001:db8:1:3::1", .ipv6(0x2001_0db8_0001_0003), "2001:db8:1:3::1"),
            ("::1", .ipv6(0), "::1"),
            ("::192.0.2.7", .ipv6(0), "::192.0.2.7"),
        ]
    )
    func networks(written: String, network: PeerAddress.Network, text: String) throws {
        let peer = PeerAddress(try SocketAddress(ipAddress: written, port: 4711))
        #expect(peer.network == network)
        #expect(peer.text == text)
    }

    @Test(
        "T-80: as many entries at the end count as there are trusted proxies, and the first of them is the source",
        arguments: [
            (0, "192.0.2.9"), (1, "198.51.100.3"), (2, "198.51.100.2"), (3, "198.51.100.1"), (4, "198.51.100.1"),
        ]
    )
    func proxies(trusted: Int, text: String) throws {
        let peer = PeerAddress(
            forwarded: ["198.51.100.1, 198.51.100.2", "198.51.100.3"],
            behind: trusted,
            of: try SocketAddress(ipAddress: "192.0.2.9", port: 4711)
        )
        #expect(peer.text == text)
    }

    @Test("an address that is none is one source")
    func unknown() throws {
        #expect(PeerAddress(nil).network == .unknown)
        #expect(PeerAddress(try SocketAddress(unixDomainSocketPath: "/tmp/socket")).network == .unknown)
    }
}
