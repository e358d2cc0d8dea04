import Foundation
@testable import Import
import Testing

@Suite("Records of files")
struct FramingTests {
    /// Returns the records as text with their lines, and with bars between fields.
    private func trace(_ bytes: [UInt8], of source: ImportSource, parts: Int = 65_536) -> [String] {
        do {
            return try Exports.records(bytes, of: source, parts: parts).map { record in
                switch record.content {
                case .json(let bytes): "\(record.line): \(String(decoding: bytes, as: UTF8.self))"
                case .fields(let fields, _):
                    "\(record.line): "
                        + fields.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "|")
                case .refused(let refusal): "\(record.line): \(refusal.message)"
                }
            }
        } catch { return ["unreadable: \(error)"] }
    }

    private func trace(_ text: String, of source: ImportSource) -> [String] { trace(Array(text.utf8), of: source) }

    @Test("CSV: quotation marks, line breaks of all systems, empty lines, and another separator")
    func csv() {
        #expect(
            trace("a,b\n1,2\r\n\"x, \"\"y\"\"\",\"two\nlines\"\n\n5,\"\"", of: .csv) == [
                "2: 1|2", "3: x, \"y\"|two\nlines", "6: 5|",
            ]
        )
        #expect(trace("a;b\r1;2,3\r", of: .csv) == ["1: 1|2,3"])
        #expect(trace("a\tb\n1\t2\n", of: .csv) == ["2: 1|2"])
        #expect(trace("\u{FEFF}a,b\n1,2\n", of: .csv) == ["2: 1|2"])
        #expect(trace("a\n1\n\n2\n", of: .csv) == ["2: 1", "3: ", "4: 2"])
        #expect(trace("a,b\n", of: .csv) == [])
    }

    @Test("CSV: what is wrong with one record is that record's fault")
    func brokenCSV() {
        #expect(
            trace("a,b\n1\n2,3,4\n\"x\"y,1\n5,6\n\"open,7", of: .csv) == [
                "2: it has 1 fields, and the header has 2", "3: it has 3 fields, and the header has 2",
                "4: text stands behind a closing quotation mark", "5: 5|6",
                "6: a quotation mark that opens on line 6 is never closed, so the rest of the file is no record",
            ]
        )
        #expect(
            trace("a,b\n1,2\n3,\"\n4,5\n6,7\n", of: .csv).last
                == "3: a quotation mark that opens on line 3 is never closed, so the rest of the file is no record"
        )
        let quotes = "\"" + String(repeating: "\"\"", count: RecordStream.maxBytes + 1) + "\""
        #expect(trace("a,b\n\(quotes),1\n2,3\n", of: .csv) == ["2: it has more than 1048576 bytes", "3: 2|3"])
        let long = String(repeating: "x", count: RecordStream.maxBytes + 1)
        #expect(trace("a,b\n\(long),1\n2,3\n", of: .csv) == ["2: it has more than 1048576 bytes", "3: 2|3"])
    }

    @Test(
        "CSV: a header that says nothing, or one thing twice, ends the file",
        arguments: ["", "a,a\n1,2", "a,\n1,2", "\"a\nb\",c\n", String(repeating: "a,", count: 1001)]
    )
    func header(text: String) {
        #expect(trace(text, of: .csv).first?.hasPrefix("unreadable: ") == true)
    }

    @Test("JSON: lists, lists in an object, and lines")
    func json() {
        let one = #"{"a": "}]\"", "b": [{}]}"#
        #expect(trace("[\(one),\n \(one)]", of: .auth0) == ["1: \(one)", "2: \(one)"])
        #expect(trace("{\"users\":\n [\(one)\n,{}\n]\n, \"x\": 1}", of: .firebase) == ["2: \(one)", "3: {}"])
        #expect(trace("{ \"results\" : [ ] }", of: .parse) == [])
        #expect(trace("{\"users\": 1}\n\n {}\r\n", of: .firebase) == ["1: {\"users\": 1}", "3: {}\r"])
        #expect(
            trace("{\"users\": [1]}", of: .firebase) == [
                "unreadable: line 1: something else than an object stands in the list"
            ]
        )
        #expect(trace("[{\"a\": ", of: .auth0) == ["unreadable: it ends in the middle of a record, so it is not whole"])
        #expect(trace("[{},", of: .auth0) == ["unreadable: it ends in the middle of its list, so it is not whole"])
        #expect(trace("id,email\n1,a@b.de", of: .supabase) == ["2: 1|a@b.de"])
        #expect(trace("id,email\n", of: .firebase) == ["unreadable: it is no JSON"])
        let long = "{\"a\": \"" + String(repeating: "x", count: RecordStream.maxBytes) + "\"}"
        #expect(trace("[\(long), {}]", of: .auth0) == ["1: it has more than 1048576 bytes", "1: {}"])
        #expect(trace("\(long)\n{}", of: .ndjson) == ["1: it has more than 1048576 bytes", "2: {}"])
    }

    @Test(
        "a file of another encoding is not read",
        arguments: [[0xFF, 0xFE, 0x61, 0], [0xFE, 0xFF], [0xEF, 0x41]] as [[UInt8]]
    )
    func encoding(bytes: [UInt8]) {
        #expect(trace(bytes, of: .csv).first?.hasPrefix("unreadable: ") == true)
    }

    @Test(
        "wherever the parts of a file end, its records are the same",
        arguments: [
            ("backendless.csv", .backendless), ("firebase.json", .firebase), ("parse.json", .parse),
            ("auth0.ndjson", .auth0), ("supabase.csv", .supabase), ("users.ndjson", .ndjson),
        ] as [(String, ImportSource)]
    )
    func parts(name: String, source: ImportSource) throws {
        let bytes = try Exports.bytes(name)
        let whole = trace(bytes, of: source)
        #expect(whole.count > 1)
        for parts in [1, 2, 3, 7, 64, 1000] { #expect(trace(bytes, of: source, parts: parts) == whole) }
    }

    @Test("ten thousand mutilated files are read to their end, or refused, and never trap")
    func hostile() throws {
        var random = SystemRandomNumberGenerator()
        let files = try [
            ("backendless.csv", ImportSource.backendless), ("firebase.json", .firebase), ("parse.json", .parse),
            ("auth0.ndjson", .auth0), ("supabase.csv", .supabase), ("users.ndjson", .ndjson), ("cognito.csv", .cognito),
        ].map { (try Exports.bytes($0.0), $0.1) }
        let application = try Exports.application(dynamic: true)
        let plans = try files.map { try ImportPlan($0.1, for: application, ImportOptions()) }
        for round in 0..<10_000 {
            var bytes = files[round % files.count].0
            let source = files[round % files.count].1
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert("\"\\,{}[]\n;0".utf8.randomElement(using: &random) ?? 0, at: place)
                default: bytes.removeSubrange(place..<min(place + 40, bytes.count))
                }
                if bytes.isEmpty { bytes = [0x20] }
            }
            guard let records = try? Exports.records(bytes, of: source, parts: 100) else { continue }
            _ = plans[round % files.count].trace(records)
        }
    }
}
