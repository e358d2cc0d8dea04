/// The bytes of a file, read in parts by a closure.
struct ByteStream {
    private let read: () throws -> [UInt8]
    private var part: [UInt8] = []
    private var position = 0
    /// The number of the line that has the next byte, counted from 1.
    private(set) var line = 1

    /// Creates the stream.
    ///
    /// - Parameter read: Returns the next bytes of the file; none at its end.
    init(_ read: @escaping () throws -> [UInt8]) {
        self.read = read
    }

    /// Returns the next byte without consuming it; nil at the end.
    mutating func peek() throws -> UInt8? {
        if position == part.count {
            part = try read()
            position = 0
            if part.isEmpty { return nil }
        }
        return part[position]
    }

    /// Returns up to the given number of bytes without consuming them.
    mutating func peek(_ count: Int) throws -> ArraySlice<UInt8> {
        while part.count - position < count {
            let more = try read()
            if more.isEmpty { break }
            part = part[position...] + more
            position = 0
        }
        return part[position...].prefix(count)
    }

    /// Consumes and returns the next byte; nil at the end.
    mutating func next() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        position += 1
        if byte == UInt8(ascii: "\n") { line += 1 }
        return byte
    }

    /// Consumes the next byte if it is the given one.
    ///
    /// - Returns: Whether the byte was consumed.
    mutating func take(_ byte: UInt8) throws -> Bool {
        guard try peek() == byte else { return false }
        _ = try next()
        return true
    }

    /// Skips white space of JSON and returns the next byte without consuming it.
    mutating func skipSpace() throws -> UInt8? {
        while let byte = try peek(), Self.isSpace(byte) { _ = try next() }
        return try peek()
    }

    /// Returns whether the byte is white space in JSON.
    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
}
