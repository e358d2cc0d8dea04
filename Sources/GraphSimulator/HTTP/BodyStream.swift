import NIOCore

/// A body too large to hold: it is made piece by piece as the client reads it.
struct BodyStream {
    /// The next piece; `nil` at the end.
    private let produce: () -> ByteBuffer?

    private static let pieceSize = 64 * 1024

    func next() -> ByteBuffer? {
        produce()
    }

    /// `{"padding":"000…"}`, of exactly the size that ``paddedSize(_:)`` tells.
    static func padded(bytes: Int) -> BodyStream {
        let padding = ByteBuffer(repeating: UInt8(ascii: "0"), count: pieceSize)
        return pieces(
            first: ByteBuffer(string: #"{"padding":""#),
            repeating: padding,
            count: paddingCount(bytes),
            last: ByteBuffer(string: #""}"#)
        )
    }

    static func paddedSize(_ bytes: Int) -> Int {
        paddingCount(bytes) * pieceSize + #"{"padding":""}"#.utf8.count
    }

    /// `{"padding":"000…` in chunks, without end.
    static func endless() -> BodyStream {
        var chunk = ByteBuffer(string: "\(String(pieceSize, radix: 16))\r\n")
        chunk.writeRepeatingByte(UInt8(ascii: "0"), count: pieceSize)
        chunk.writeStaticString("\r\n")
        let first = #"{"padding":""#
        return pieces(
            first: ByteBuffer(string: "\(String(first.utf8.count, radix: 16))\r\n\(first)\r\n"),
            repeating: chunk,
            count: .max,
            last: ByteBuffer()
        )
    }

    static func pieces(first: ByteBuffer, repeating piece: ByteBuffer, count: Int, last: ByteBuffer) -> BodyStream {
        var index = -1
        return BodyStream {
            defer { index += index == .max ? 0 : 1 }
            if index == -1 { return first }
            if index < count { return piece }
            return index == count ? last : nil
        }
    }

    private static func paddingCount(_ bytes: Int) -> Int {
        max((bytes + pieceSize - 1) / pieceSize, 1)
    }
}
