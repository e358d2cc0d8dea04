/// Divides a JSON file into records.
///
/// It finds the end of each record, but does not parse the records.
enum JSONFraming {
    /// Returns the rest of the line as an unparsed record; nil at the end of the file.
    static func line(_ stream: inout ByteStream) throws -> SourceRecord.Content? {
        guard try stream.peek() != nil else { return nil }
        var bytes: [UInt8] = []
        var isTooLong = false
        while let byte = try stream.next(), byte != UInt8(ascii: "\n") {
            if bytes.count < RecordStream.maxBytes { bytes.append(byte) } else { isTooLong = true }
        }
        return isTooLong ? .refused(.tooLong) : .json(bytes)
    }

    /// Returns the next element of a JSON list as an unparsed record; nil after the last element.
    static func element(_ stream: inout ByteStream) throws -> SourceRecord.Content? {
        guard let first = try stream.peek() else {
            throw UnreadableFile("it ends in the middle of its list, so it is not whole")
        }
        if first == UInt8(ascii: "]") { return nil }
        guard first == UInt8(ascii: "{") else {
            throw UnreadableFile("line \(stream.line): something else than an object stands in the list")
        }
        var bytes: [UInt8] = []
        var (depth, isInString, isEscaped, isTooLong) = (0, false, false, false)
        repeat {
            guard let byte = try stream.next() else {
                throw UnreadableFile("it ends in the middle of a record, so it is not whole")
            }
            if bytes.count < RecordStream.maxBytes { bytes.append(byte) } else { isTooLong = true }
            if isEscaped {
                isEscaped = false
                continue
            }
            switch byte {
            case UInt8(ascii: "\\"): isEscaped = isInString
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "{"), UInt8(ascii: "["): if !isInString { depth += 1 }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): if !isInString { depth -= 1 }
            default: break
            }
        } while depth > 0
        return isTooLong ? .refused(.tooLong) : .json(bytes)
    }
}

extension RecordRefusal {
    static let tooLong = RecordRefusal(.malformed, "it has more than \(RecordStream.maxBytes) bytes")
}
