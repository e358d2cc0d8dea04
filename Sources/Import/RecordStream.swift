import Encodings

/// A record of a file, with its position for error messages.
package struct SourceRecord: Sendable {
    /// The number of the record in the file, counted from 1.
    ///
    /// The header of a CSV file is not counted.
    package let number: Int
    /// The line on which the record begins.
    package let line: Int
    /// The unparsed content.
    let content: Content

    /// The size of the record's content in bytes.
    package var bytes: Int {
        switch content {
        case .json(let bytes): bytes.count
        case .fields(let fields, _): fields.reduce(0) { $0 + $1.count }
        case .refused: 0
        }
    }

    /// The names of the file's columns; nil if it has no header.
    package var columns: [String]? {
        if case .fields(_, let header) = content { header.names } else { nil }
    }

    enum Content: Sendable {
        case json([UInt8])
        /// The bytes of each field, with the names of the header.
        case fields([[UInt8]], CSVHeader)
        case refused(RecordRefusal)
    }
}

/// The reason why a file as a whole is unreadable.
package struct UnreadableFile: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The records of a file, one after the other.
///
/// If the content of a record is invalid, the stream continues with the next record. If the stream cannot tell where a
/// record begins or ends, `next` throws an error.
package struct RecordStream {
    /// The maximum size of a record in bytes.
    static let maxBytes = 1_048_576

    private enum Form {
        case csv(CSVFraming)
        /// One JSON object per line.
        case lines
        /// The elements of an array, which may be inside an object.
        case array
    }

    private var stream: ByteStream
    private var form: Form
    /// The number of records returned.
    package private(set) var count = 0

    /// Reads the beginning of a file to find its form.
    ///
    /// - Parameters:
    ///   - source: The source of the file. If a source writes several forms, the beginning of the file tells which one
    ///     it is.
    ///   - read: Returns the next bytes of the file; none at its end.
    /// - Throws: `UnreadableFile`, and the errors of `read`.
    package init(of source: ImportSource, _ read: @escaping () throws -> [UInt8]) throws {
        stream = ByteStream(read)
        if try stream.take(0xEF) {
            guard try stream.take(0xBB), try stream.take(0xBF) else { throw UnreadableFile("it is not UTF-8") }
        }
        let first = try stream.peek()
        guard first != 0xFE, first != 0xFF, first != 0 else {
            throw UnreadableFile("it is not UTF-8; convert it first")
        }
        switch source {
        case .backendless, .cognito, .csv: form = .csv(try CSVFraming(&stream))
        case .ndjson: form = .lines
        case .supabase, .firebase, .parse, .auth0:
            if let json = try Self.json(&stream) {
                form = json
            } else if source == .supabase {
                form = .csv(try CSVFraming(&stream))
            } else {
                throw UnreadableFile("it is no JSON")
            }
        }
    }

    /// Returns the form of a JSON file; nil for other files.
    ///
    /// If the file begins with an object, each line is an object. The exception is an object whose first member is a
    /// list: Firebase and Parse write all users into one object.
    private static func json(_ stream: inout ByteStream) throws -> Form? {
        switch try stream.skipSpace() {
        case UInt8(ascii: "["):
            _ = try stream.next()
            return .array
        case UInt8(ascii: "{"):
            guard let length = listOpening(Array(try stream.peek(4096))) else { return .lines }
            for _ in 0..<length { _ = try stream.next() }
            return .array
        default: return nil
        }
    }

    /// Returns the number of bytes up to a list that is the first member of an object; nil without such a list.
    private static func listOpening(_ bytes: [UInt8]) -> Int? {
        let quote = UInt8(ascii: "\"")
        var rest = bytes.dropFirst().drop(while: ByteStream.isSpace)
        guard rest.popFirst() == quote else { return nil }
        rest = rest.drop { $0.isASCIIAlphanumeric }
        guard rest.popFirst() == quote else { return nil }
        for expected in [UInt8(ascii: ":"), UInt8(ascii: "[")] {
            rest = rest.drop(while: ByteStream.isSpace)
            guard rest.popFirst() == expected else { return nil }
        }
        return rest.startIndex
    }

    /// Returns the next record; nil at the end.
    ///
    /// - Throws: `UnreadableFile`, and the errors of reading.
    package mutating func next() throws -> SourceRecord? {
        let line: Int
        let content: SourceRecord.Content?
        switch form {
        case .csv(let framing):
            (line, content) = try framing.next(&stream)
        case .lines:
            _ = try stream.skipSpace()
            line = stream.line
            content = try JSONFraming.line(&stream)
        case .array:
            _ = try stream.skipSpace()
            if count > 0, try stream.take(UInt8(ascii: ",")) { _ = try stream.skipSpace() }
            line = stream.line
            content = try JSONFraming.element(&stream)
        }
        guard let content else { return nil }
        count += 1
        return SourceRecord(number: count, line: line, content: content)
    }
}
