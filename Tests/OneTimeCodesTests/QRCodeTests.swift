import FoundationEssentials
import OneTimeCodes
import Testing
import TestSupport

@Suite("Pictures for apps to scan")
struct QRCodeTests {
    /// Returns the text that zbar, which shares no code with libqrencode, reads from the picture.
    private static func scan(_ picture: Raster) async throws -> String {
        let file = FileManager.default.temporaryDirectory.path + "/qr-code-\(UUID()).pgm"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data(picture.pgm(scale: 4)).write(to: URL(filePath: file))
        let zbar = try await ManagedProcess.start("zbarimg", ["--quiet", "--raw", "-Sbinary", file])
        #expect(try await zbar.waitForExit() == .exited(0), "\(zbar.standardError)")
        return zbar.standardOutput
    }

    @Test(
        "another program reads the text off the picture",
        arguments: [
            "otpauth://totp/Demo:a%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Demo&algorithm=SHA1&digits=6",
            "a", "0123456789", "Grüezi, 東京 👍", String(repeating: "long ", count: 140), "line\nand line",
        ]
    )
    func scanned(text: String) async throws {
        let picture = try Raster(svg: #require(QRCode(text)).svg)
        #expect(try await Self.scan(picture) == text)
    }

    @Test("the picture has the modules of the code, and four light ones around them")
    func picture() throws {
        let code = try #require(QRCode("otpauth://totp/a"))
        let picture = try Raster(svg: code.svg)
        let width = code.modules.count
        #expect(width == 25 && code.modules.allSatisfy { $0.count == width })
        let light = [Bool](repeating: false, count: width + 8)
        let rows = code.modules.map { [Bool](repeating: false, count: 4) + $0 + [Bool](repeating: false, count: 4) }
        #expect(picture.rows == [light, light, light, light] + rows + [light, light, light, light])
        // The finder patterns in three corners.
        let corner = ["#######", "#     #", "# ### #", "# ### #", "# ### #", "#     #", "#######"]
        for (x, y) in [(0, 0), (width - 7, 0), (0, width - 7)] {
            #expect((0..<7).map { dy in String(code.modules[y + dy][x..<x + 7].map { $0 ? "#" : " " }) } == corner)
        }
    }

    @Test("the picture can do nothing, and has crisp edges")
    func harmless() throws {
        let svg = try #require(QRCode("<script>\"&'</script>")).svg
        let shape = svg.replacing(#/ d="[MhvzH0-9 -]+"/#, with: "")
        #expect(
            shape == """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 33 33" shape-rendering="crispEdges">\
                <rect width="33" height="33" fill="#fff"/><path fill="#000"/></svg>
                """
        )
    }

    @Test("a text up to the capacity has a code, one byte more has none, and neither has an empty one")
    func capacity() throws {
        #expect(QRCode("") == nil)
        #expect(try #require(QRCode("a")).modules.count == 21)
        #expect(try #require(QRCode(String(repeating: "a", count: 2331))).modules.count == 177)
        #expect(QRCode(String(repeating: "a", count: 2332)) == nil)
        #expect(QRCode(String(repeating: "a", count: 1_000_000)) == nil)
        for count in stride(from: 1, through: 2331, by: 97) {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...127) }
            #expect(QRCode(String(decoding: bytes, as: UTF8.self)) != nil, "\(bytes)")
        }
    }
}

/// The modules of a QR code, parsed from the one path of an SVG without the code that wrote it.
private struct Raster {
    private(set) var rows: [[Bool]]

    private struct Unreadable: Error {}

    init(svg: String) throws {
        guard let box = svg.firstMatch(of: #/viewBox="0 0 (\d+) (\d+)"/#), box.1 == box.2, let side = Int(box.1),
            let path = svg.firstMatch(of: #/<path fill="#000" d="([^"]*)"/>/#)
        else { throw Unreadable() }
        rows = [[Bool]](repeating: [Bool](repeating: false, count: side), count: side)
        for part in path.1.split(separator: "z") {
            guard let run = part.wholeMatch(of: #/M(\d+) (\d+)h(\d+)v1h-(\d+)/#), run.3 == run.4,
                let x = Int(run.1), let y = Int(run.2), let length = Int(run.3), y < side, x + length <= side
            else { throw Unreadable() }
            for column in x..<x + length { rows[y][column] = true }
        }
    }

    /// Returns a grey picture in the Netpbm format, with `scale` pixels for each side of a module.
    func pgm(scale: Int) -> [UInt8] {
        var bytes = Array("P5 \(rows.count * scale) \(rows.count * scale) 255\n".utf8)
        for row in rows {
            let line = row.flatMap { [UInt8](repeating: $0 ? 0 : 255, count: scale) }
            for _ in 0..<scale { bytes += line }
        }
        return bytes
    }
}
