import Encodings

/// The column names of a CSV file.
final class CSVHeader: Sendable {
    let names: [String]

    init(names: [String]) {
        self.names = names
    }
}

/// Divides a CSV file into records by RFC 4180.
///
/// Line breaks of all systems are accepted. The header decides whether a comma, a semicolon or a tab separates fields.
struct CSVFraming {
    private static let maxColumns = 1000

    private let header: CSVHeader
    private let separator: UInt8

    /// Reads the header.
    init(_ stream: inout ByteStream) throws {
        var separator: UInt8?
        let (fields, refusal) = try Self.fields(&stream, &separator)
        if let refusal { throw UnreadableFile("its header is malformed: \(refusal.message)") }
        guard let fields, fields.count <= Self.maxColumns else {
            throw UnreadableFile("it has no header, or one of more than \(Self.maxColumns) columns")
        }
        var names: [String] = []
        for field in fields {
            guard let name = String(validating: field, as: UTF8.self), (1...128).contains(name.utf8.count),
                !name.utf8.contains(where: { $0 < 0x20 })
            else { throw UnreadableFile("a column has no name of 1 to 128 bytes of UTF-8") }
            guard !names.contains(where: { $0.hasSameBytes(as: name) }) else {
                throw UnreadableFile("two columns have one name")
            }
            names.append(name)
        }
        header = CSVHeader(names: names)
        self.separator = separator ?? UInt8(ascii: ",")
    }

    /// Returns the next record with the number of its first line; no record at the end of the file.
    func next(_ stream: inout ByteStream) throws -> (Int, SourceRecord.Content?) {
        while true {
            let line = stream.line
            var separator: UInt8? = self.separator
            let (fields, refusal) = try Self.fields(&stream, &separator)
            guard let fields else { return (line, nil) }
            if let refusal { return (line, .refused(refusal)) }
            // An empty line is skipped.
            if fields.count == 1, fields[0].isEmpty, header.names.count > 1 { continue }
            guard fields.count == header.names.count else {
                let counts = "it has \(fields.count) fields, and the header has \(header.names.count)"
                return (line, .refused(RecordRefusal(.malformed, counts)))
            }
            return (line, .fields(fields, header))
        }
    }

    /// Returns the fields of a line, and the error if the line has one.
    ///
    /// At the end of the file, there are no fields. `separator` is the separator of fields, or nil until the first
    /// separator is found.
    private static func fields(
        _ stream: inout ByteStream,
        _ separator: inout UInt8?
    ) throws -> ([[UInt8]]?, RecordRefusal?) {
        guard try stream.peek() != nil else { return (nil, nil) }
        var fields: [[UInt8]] = [[]]
        var (size, refusal): (Int, RecordRefusal?) = (0, nil)
        /// Whether the field began with a quotation mark, and whether that quotation is still open.
        var (isQuoted, isOpen) = (false, false)
        /// The line of the last opening quotation mark.
        var opening = stream.line
        while let byte = try stream.next() {
            if isOpen {
                // Inside quotation marks, two quotation marks stand for one.
                if byte == UInt8(ascii: "\""), try !stream.take(byte) {
                    isOpen = false
                    continue
                }
            } else if byte == UInt8(ascii: "\n") {
                return (fields, refusal)
            } else if byte == UInt8(ascii: "\r") {
                _ = try stream.take(UInt8(ascii: "\n"))
                return (fields, refusal)
            } else if byte == separator || separator == nil && byte.isOne(of: ",;\t") {
                separator = byte
                if fields.count <= maxColumns { fields.append([]) }
                isQuoted = false
                continue
            } else if byte == UInt8(ascii: "\""), !isQuoted, fields[fields.count - 1].isEmpty {
                (isQuoted, isOpen, opening) = (true, true, stream.line)
                continue
            } else if isQuoted {
                refusal = RecordRefusal(.malformed, "text stands behind a closing quotation mark")
            }
            size += 1
            if size > RecordStream.maxBytes { refusal = .tooLong } else { fields[fields.count - 1].append(byte) }
        }
        if isOpen {
            refusal = RecordRefusal(
                .malformed,
                "a quotation mark that opens on line \(opening) is never closed, so the rest of the file is no record"
            )
        }
        return (fields, refusal)
    }
}
