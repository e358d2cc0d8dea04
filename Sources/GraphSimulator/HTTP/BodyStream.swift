import NIOCore

/// A response body that is too large to be held in memory.
///
/// The simulator makes the body piece by piece while the client reads.
struct BodyStream {
    /// The number of times that the middle piece of the body is sent; `nil` for an endless body.
    ///
    /// The body consists of a first piece, the repeated middle piece, and a last piece.
    private let count: Int?
    private var first: ByteBuffer?
    private let piece: ByteBuffer
    private var last: ByteBuffer?
    private var sent = 0

    init(first: ByteBuffer, repeating piece: ByteBuffer, count: Int?, last: ByteBuffer) {
        self.first = first
        self.piece = piece
        self.count = count
        self.last = last
    }

    /// Returns a body `{"padding":"000…"}` of at least the given number of bytes.
    static func padded(bytes: Int) -> BodyStream {
        let size = zeros.readableBytes
        return BodyStream(first: opening, repeating: zeros, count: max((bytes + size - 1) / size, 1), last: closing)
    }

    /// Returns a body that begins with `{"padding":"000…` and never ends.
    static func endless() -> BodyStream {
        BodyStream(first: opening, repeating: zeros, count: nil, last: closing)
    }

    private static var opening: ByteBuffer { ByteBuffer(string: #"{"padding":""#) }
    private static var zeros: ByteBuffer { ByteBuffer(repeating: UInt8(ascii: "0"), count: 64 * 1024) }
    private static var closing: ByteBuffer { ByteBuffer(string: #""}"#) }

    /// The size of the whole body in bytes; `nil` for an endless body.
    ///
    /// The size is correct only before the first call of ``next()``.
    var size: Int? {
        count.map { (first?.readableBytes ?? 0) + $0 * piece.readableBytes + (last?.readableBytes ?? 0) }
    }

    /// Returns the next piece of the body; `nil` after the last piece.
    mutating func next() -> ByteBuffer? {
        if let first = first.take() { return first }
        guard let count else { return piece }
        sent += 1
        return sent <= count ? piece : last.take()
    }
}
