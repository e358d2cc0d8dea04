/// The bytes of a file, taken from whoever reads it part by part.
struct ByteStream {
    private let read: () throws -> [UInt8]
    private var part: [UInt8] = []
    private var position = 0
    /// The line of the next byte; the first one is 1.
    private(set) var line = 1

    /// - Parameter read: The next bytes of the file; none at its end.
    init(_ read: @escaping () throws -> [UInt8]) {
        self.read = read
    }

    /// The next byte, which stays; nil at the end.
    mutating func peek() throws -> UInt8? {
        if position == part.count {
            part = try read()
            position = 0
            if part.isEmpty { return nil }
        }
        return part[position]
    }

    /// The next bytes, so many if there are; they stay.
    mutating func peek(_ count: Int) throws -> ArraySlice<UInt8> {
        while part.count - position < count {
            let more = try read()
            if more.isEmpty { break }
            part = part[position...] + more
            position = 0
        }
        return part[position...].prefix(count)
    }

    /// Takes the next byte; nil at the end.
    mutating func next() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        position += 1
        if byte == UInt8(ascii: "\n") { line += 1 }
        return byte
    }

    /// Takes the byte if it is the next one.
    mutating func take(_ byte: UInt8) throws -> Bool {
        guard try peek() == byte else { return false }
        _ = try next()
        return true
    }

    /// Passes over white space of JSON; the next byte.
    mutating func skipSpace() throws -> UInt8? {
        while let byte = try peek(), Self.isSpace(byte) { _ = try next() }
        return try peek()
    }

    /// Whether JSON takes the byte for white space.
    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
}
