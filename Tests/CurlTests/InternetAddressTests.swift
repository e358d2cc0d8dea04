@testable import Curl
import Testing

@Suite("Addresses of the public internet")
struct InternetAddressTests {
    @Test("IPv4: only what RFC 6890 leaves")
    func v4() {
        func address(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32) -> UInt32 { a << 24 | b << 16 | c << 8 | d }
        for own in [
            address(0, 0, 0, 0), address(10, 1, 2, 3), address(100, 64, 0, 1), address(100, 127, 255, 255),
            address(127, 0, 0, 1), address(169, 254, 169, 254), address(172, 16, 0, 1), address(172, 31, 255, 255),
            address(192, 0, 0, 8), address(192, 168, 1, 1), address(198, 18, 0, 1), address(198, 19, 255, 255),
            address(224, 0, 0, 1), address(240, 0, 0, 1), address(255, 255, 255, 255), address(203, 0, 113, 7),
        ] {
            #expect(!InternetAddress.contains(v4: own), "\(own)")
        }
        for open in [
            address(1, 1, 1, 1), address(9, 255, 255, 255), address(11, 0, 0, 0), address(100, 63, 255, 255),
            address(100, 128, 0, 0), address(172, 15, 255, 255), address(172, 32, 0, 0), address(192, 167, 0, 1),
            address(198, 17, 0, 1), address(198, 20, 0, 1), address(223, 255, 255, 255),
        ] {
            #expect(InternetAddress.contains(v4: open), "\(open)")
        }
    }

    @Test("IPv6: global unicast alone, and no way around by IPv4 within it")
    func v6() {
        func address(_ start: [UInt8], _ end: [UInt8] = []) -> [UInt8] {
            start + [UInt8](repeating: 0, count: 16 - start.count - end.count) + end
        }
        for own in [
            address([], [1]), address([]), address([0xFC, 0]), address([0xFD, 1]), address([0xFE, 0x80]),
            address([0xFF, 2]), address([], [0xFF, 0xFF, 10, 0, 0, 1]), address([], [0xFF, 0xFF, 127, 0, 0, 1]),
            address([0x20, 2, 10, 0, 0, 1]), address([0x20, 1, 0, 0]), address([0x20, 1, 0x0D, 0xB8]),
            address([0, 0x64, 0xFF, 0x9B], [10, 0, 0, 1]),
        ] {
            #expect(!InternetAddress.contains(v6: own), "\(own)")
        }
        for open in [address([0x2A, 0]), address([0x20, 1, 0x48, 0x60]), address([], [0xFF, 0xFF, 8, 8, 8, 8])] {
            #expect(InternetAddress.contains(v6: open), "\(open)")
        }
    }

    @Test("a call for the public internet opens no connection to this machine")
    func refused() async throws {
        let client = try CurlClient(configuration: CurlConfiguration())
        for url in ["http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9", "https://127.0.0.1:9"] {
            let request = try HTTPRequest(
                url: try HTTPURL(url),
                timeout: .seconds(5),
                connectTimeout: .seconds(5),
                maxReplyBytes: 1024,
                isPublicOnly: true
            )
            await #expect(throws: CurlError.invalidRequest(.addressNotPublic)) { try await client.send(request) }
        }
    }
}
