import CZlib
import NIOCore

/// A compressor of response bodies.
///
/// Each event loop has one instance, since the allocation of zlib's state is expensive.
final class Gzip {
    /// zlib's state, which must not move in memory, since zlib stores its address.
    private let stream: UnsafeMutablePointer<z_stream>

    /// zlib's parameter `windowBits`: a window of 15 bits, plus 16 for output in the gzip format.
    private static let windowBits: Int32 = 15 + 16

    init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // The bodies have half a kilobyte. With little memory, zlib clears little for each body.
        let result = deflateInit2_(
            stream,
            1,
            Z_DEFLATED,
            Self.windowBits,
            4,
            Z_DEFAULT_STRATEGY,
            ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size)
        )
        precondition(result == Z_OK, "zlib refuses its own version or memory")
    }

    deinit {
        deflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    /// Returns the bytes compressed, as a complete gzip file.
    func compress(_ bytes: [UInt8]) -> [UInt8] {
        deflateReset(stream)
        return run(bytes, flush: Z_FINISH)
    }

    /// Returns the compressed form of `{"padding":"000…"}`, which decompresses to at least the given number of bytes.
    ///
    /// Each piece ends with a full flush, which resets the compressor's history. Therefore the compressed block of
    /// zeros can be repeated any number of times. The checksum of the whole body is computed from the checksums of the
    /// pieces.
    func bomb(bytes: Int) -> BodyStream {
        let blockSize = 1 << 20
        let count = max((bytes + blockSize - 1) / blockSize, 1)
        let head = Array(#"{"padding":""#.utf8)
        let tail = Array(#""}"#.utf8)
        let padding = [UInt8](repeating: UInt8(ascii: "0"), count: blockSize)

        deflateReset(stream)
        let first = run(head, flush: Z_FULL_FLUSH)
        let block = run(padding, flush: Z_FULL_FLUSH)
        var last = Array(run(tail, flush: Z_FINISH).dropLast(8))

        var checksum = Self.checksum(head)
        let blockChecksum = Self.checksum(padding)
        for _ in 0..<count { checksum = crc32_combine(checksum, blockChecksum, blockSize) }
        checksum = crc32_combine(checksum, Self.checksum(tail), tail.count)
        let length = UInt32(truncatingIfNeeded: head.count + count * blockSize + tail.count)
        for word in [UInt32(truncatingIfNeeded: checksum), length] {
            for shift in [0, 8, 16, 24] as [UInt32] { last.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        return BodyStream(
            first: ByteBuffer(bytes: first),
            repeating: ByteBuffer(bytes: block),
            count: count,
            last: ByteBuffer(bytes: last)
        )
    }

    private static func checksum(_ bytes: [UInt8]) -> uLong {
        bytes.withUnsafeBufferPointer { crc32(0, $0.baseAddress, uInt($0.count)) }
    }

    private func run(_ bytes: [UInt8], flush: Int32) -> [UInt8] {
        // zlib does not write through the pointer, although the pointer's type is not const.
        var bytes = bytes
        let bound = Int(deflateBound(stream, uLong(bytes.count))) + 64
        return bytes.withUnsafeMutableBufferPointer { input in
            [UInt8](unsafeUninitializedCapacity: bound) { output, count in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = uInt(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = uInt(output.count)
                deflate(stream, flush)
                count = output.count - Int(stream.pointee.avail_out)
            }
        }
    }
}
