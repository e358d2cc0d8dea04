import NIOCore

/// Counts the HTTP/2 frames that a client sends, by their headers (RFC 9113 §4.1).
///
/// The meter tells since when a frame has been incomplete, and whether the client sends more frames than its requests
/// need. For the latter, the client has an allowance, which is a number of frames. Each frame reduces it by one; each
/// request and each second increase it. The type of a frame does not matter, so frames of unknown types count, too.
struct FrameMeter {
    /// The maximum of the allowance: the number of frames that a client may send in one burst.
    static let burst = 1000
    /// The number of frames that each request adds to the allowance.
    ///
    /// The client needs them for the request's body, and for the window updates that the response requires.
    static let perRequest = 16
    /// The number of frames that each second adds to the allowance.
    static let perSecond = 100

    /// The length in bytes of the connection preface, which a client sends first (RFC 9113 §3.4).
    private static let preface = 24
    private static let headSize = 9

    /// The time since which the received data have been incomplete; nil if they are complete.
    ///
    /// At first, they are incomplete until the preface and the first request have arrived. Later, they are incomplete
    /// until the rest of a frame, or of the frames of a header block, has arrived.
    private(set) var isOpenSince: NIODeadline?

    private var allowance = burst
    private var refilled: NIODeadline
    private var head: [UInt8] = []
    private var payloadLeft = preface
    private var isInHead = false
    private var hasRequest = false
    private var payloadKind = Kind.other

    private enum Kind { case headers, other }

    init(now: NIODeadline) {
        isOpenSince = now
        refilled = now
        head.reserveCapacity(Self.headSize)
    }

    /// Counts the frames in received bytes.
    ///
    /// - Returns: False if the client has sent more frames than its allowance.
    mutating func take(_ bytes: ByteBufferView, now: NIODeadline) -> Bool {
        refill(now)
        var rest = bytes
        while !rest.isEmpty, allowance >= 0 {
            if isOpenSince == nil { isOpenSince = now }
            if payloadLeft > 0 {
                let count = min(payloadLeft, rest.count)
                rest = rest.dropFirst(count)
                payloadLeft -= count
                if payloadLeft == 0 { endFrame() }
                continue
            }
            while head.count < Self.headSize, let byte = rest.popFirst() { head.append(byte) }
            if head.count == Self.headSize { beginFrame() }
        }
        return allowance >= 0
    }

    private mutating func beginFrame() {
        payloadLeft = head.prefix(3).reduce(0) { $0 << 8 | Int($1) }
        let (type, flags) = (head[3], head[4])
        head.removeAll(keepingCapacity: true)
        allowance -= 1
        // HEADERS and CONTINUATION without END_HEADERS.
        if type == 1 || type == 9 { isInHead = flags & 0x4 == 0 }
        payloadKind = (type == 1 || type == 9) && !isInHead ? .headers : .other
        if payloadLeft == 0 { endFrame() }
    }

    private mutating func endFrame() {
        if payloadKind == .headers {
            hasRequest = true
            allowance = min(allowance + Self.perRequest, Self.burst)
            payloadKind = .other
        }
        if hasRequest, !isInHead { isOpenSince = nil }
    }

    private mutating func refill(_ now: NIODeadline) {
        let milliseconds = (now - refilled).nanoseconds / 1_000_000
        let more = Int(milliseconds.clamped(to: 0...60_000)) * Self.perSecond / 1000
        guard more > 0 else { return }
        allowance = min(allowance + more, Self.burst)
        refilled = now
    }
}

extension Int64 {
    fileprivate func clamped(to range: ClosedRange<Int64>) -> Int64 {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
