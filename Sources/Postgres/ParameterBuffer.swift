/// The values of one statement in PostgreSQL's binary format, in memory that all statements reuse.
struct ParameterBuffer {
    private static let maxCount = 65_535
    /// The maximum total size of the values of a statement, in bytes.
    ///
    /// PostgreSQL limits the size of a message, and the other parts of the message need some room.
    private static let maxBytes = 1_000_000_000
    /// The maximum size, in bytes, of a buffer that is kept for the next statement; a larger one is freed.
    private static let keptBytes = 1 << 20

    private var bytes: [UInt8] = []
    /// The offset of each value in `bytes`; -1 for NULL.
    private var offsets: [Int] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []
    private var types: [UInt32] = []
    private var pointers: [UnsafePointer<CChar>?] = []

    /// Encodes the values of a statement into the buffer.
    ///
    /// Returns false if they are too many or too large.
    mutating func load(_ binds: [Bind]) -> Bool {
        if bytes.count > Self.keptBytes { bytes = [] }
        bytes.removeAll(keepingCapacity: true)
        // An empty value at the very start needs an address, too, since libpq reads a null pointer as SQL's NULL.
        bytes.append(0)
        offsets.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        types.removeAll(keepingCapacity: true)
        guard binds.count <= Self.maxCount else { return false }
        for bind in binds {
            types.append(bind.sqlType.oid)
            if case .null = bind {
                offsets.append(-1)
                lengths.append(0)
                continue
            }
            let start = bytes.count
            offsets.append(start)
            bytes.append(bind)
            guard bytes.count <= Self.maxBytes else { return false }
            lengths.append(Int32(bytes.count - start))
        }
        while formats.count < binds.count { formats.append(1) }
        return true
    }

    /// Calls `body` with the arrays that libpq's functions take: count, types, values, lengths, formats (all binary).
    mutating func withArrays<Result>(
        _ body: (
            Int32, UnsafePointer<UInt32>?, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?,
            UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        pointers.removeAll(keepingCapacity: true)
        return bytes.withUnsafeBytes { raw in
            let base = raw.baseAddress?.assumingMemoryBound(to: CChar.self)
            for offset in offsets { pointers.append(offset < 0 ? nil : base.map { $0 + offset }) }
            return body(Int32(offsets.count), types, pointers, lengths, formats)
        }
    }
}
