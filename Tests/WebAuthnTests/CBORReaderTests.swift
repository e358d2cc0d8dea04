import Encodings
import Testing
@testable import WebAuthn

@Suite("CBOR, item by item")
struct CBORReaderTests {
    private func reader(_ hexadecimal: String) throws -> CBORReader {
        CBORReader(try #require(Hexadecimal.decode(hexadecimal.utf8))[...])
    }

    @Test(
        "integers of RFC 8949, appendix A",
        arguments: [
            ("00", 0), ("01", 1), ("0a", 10), ("17", 23), ("1818", 24), ("1819", 25), ("1864", 100), ("1903e8", 1000),
            ("1a000f4240", 1_000_000), ("1b000000e8d4a51000", 1_000_000_000_000), ("20", -1), ("29", -10),
            ("3863", -100), ("3903e7", -1000), ("1b7fffffffffffffff", .max), ("3b7fffffffffffffff", .min),
        ] as [(String, Int64)]
    )
    func integers(hexadecimal: String, value: Int64) throws {
        var reader = try reader(hexadecimal)
        #expect(try reader.integer() == value)
        #expect(reader.isAtEnd)
    }

    @Test(
        "integers that are too large or in a longer form, and what is none",
        arguments: [
            "1bffffffffffffffff", "3b8000000000000000", "3bffffffffffffffff", "1800", "1817", "190018", "1900ff",
            "1a00000000", "1a0000ffff", "1b00000000ffffffff", "3817", "390017", "1c", "1d",
            "1e", "1f", "18", "19ff", "1affffff", "1bffffffffffffff", "", "40", "60", "80", "a0", "c000", "f5", "f6",
        ]
    )
    func noIntegers(hexadecimal: String) throws {
        var reader = try reader(hexadecimal)
        #expect(throws: CBORError.self) { try reader.integer() }
    }

    @Test("byte strings, texts and maps, each only where it is expected")
    func strings() throws {
        for (hexadecimal, kind) in [("4401020304", 0), ("6449455446", 1), ("a2010203", 2)] {
            var bytes = try reader(hexadecimal)
            var text = bytes
            var map = bytes
            if kind == 0 {
                #expect(try bytes.bytes() == [1, 2, 3, 4])
            } else {
                #expect(throws: CBORError.self) { try bytes.bytes() }
            }
            if kind == 1 {
                #expect(try text.text() == "IETF")
            } else {
                #expect(throws: CBORError.self) { try text.text() }
            }
            // Two pairs have at least four bytes; this map has three.
            #expect(throws: CBORError.self) { try map.map() }
        }
        var map = try reader("a201020304")
        #expect(try map.map() == 2)
        #expect(try (0..<4).map { _ in try map.integer() } == [1, 2, 3, 4])
        #expect(map.isAtEnd)
    }

    @Test(
        "what is skipped",
        arguments: [
            "00", "3903e7", "40", "4401020304", "60", "62c3bc", "80", "83010203", "8301820203820405", "a0",
            "a201020304", "a26161016162820203", "f4", "f5", "f6", "f7", "f93c00", "fa47c35000", "fb3ff199999999999a",
            "a0", "818181818180", "8181818181a0",
        ]
    )
    func skipped(hexadecimal: String) throws {
        var reader = try reader(hexadecimal + "00")
        try reader.skip()
        #expect(reader.remainder == [0])
        // The item without its last byte is incomplete.
        var short = CBORReader(try #require(Hexadecimal.decode(hexadecimal.utf8)).dropLast())
        #expect(throws: CBORError.self) { try short.skip() }
    }

    @Test(
        "what is not skipped",
        arguments: [
            "", "5f42010243030405ff", "7f657374726561646d696e67ff", "9fff", "bfff", "ff", "c0", "c100", "d9d9f700",
            "e0", "f3", "f800", "f818", "f820", "fc", "fd", "fe", "f93c", "fb3ff19999", "62c328", "61ff",
            "81818181818180", "8181818181818100", "a1a1a1a1a1a1a00000000000", "5a7fffffff", "5bffffffffffffffff",
            "7bffffffffffffffff", "9bffffffffffffffff", "bbffffffffffffffff", "bb7fffffffffffffff",
            "9b8000000000000000", "bb80000000000000000000", "9a00010000", "8200", "a100", "a2000102",
        ]
    )
    func notSkipped(hexadecimal: String) throws {
        var reader = try reader(hexadecimal)
        #expect(throws: CBORError.self) { try reader.skip() }
    }
}
