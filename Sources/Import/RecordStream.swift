import Vocabulary

/// A record of a file, with its place for those who have to mend it.
package struct SourceRecord: Sendable {
    /// Counts from 1; a header is none.
    package let number: Int
    /// The line on which it begins.
    package let line: Int
    /// What stands there, not yet looked into.
    let content: Content

    /// How much memory it takes.
    package var bytes: Int {
        switch content {
        case .json(let bytes): bytes.count
        case .fields(let fields, _): fields.reduce(0) { $0 + $1.count }
        case .refused: 0
        }
    }

    enum Content: Sendable {
        case json([UInt8])
        /// Bytes of each field, behind the names of the header.
        case fields([[UInt8]], CSVHeader)
        case refused(RecordRefusal)
    }
}

/// Why a file as a whole cannot be read.
package struct UnreadableFile: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The records of a file, one after the other.
///
/// What is wrong inside a record is that record's fault, and the next one is found all the same; what is wrong around
/// them ends the file.
package struct RecordStream {
    /// Bytes of one record.
    static let mostBytes = 1_048_576

    private enum Form {
        case csv(CSVFraming)
        /// A JSON object on each line.
        case lines
        /// The elements of an array, perhaps inside an object.
        case array
    }

    private var stream: ByteStream
    private var form: Form
    /// How many records have been given out.
    package private(set) var count = 0

    /// Looks at the beginning of a file.
    ///
    /// - Parameters:
    ///   - source: Where it comes from; some write several forms, which tell themselves apart.
    ///   - read: The next bytes of the file; none at its end.
    /// - Throws: `UnreadableFile`, and what `read` throws.
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

    /// The form of a JSON file; nil for what is none.
    ///
    /// An object is one of many, each on a line, unless it begins with a list: Firebase and Parse write all users into
    /// one object.
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

    /// How many bytes open a list that is the first member of an object; nil where none is opened.
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

    /// The next record; nil at the end.
    ///
    /// - Throws: `UnreadableFile`, and what reading throws.
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
