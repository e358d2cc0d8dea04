import NIOCore

/// A count of the HTTP/2 frames that a client sends, by their headers (RFC 9113 §4.1).
///
/// It tells whether a frame is under way, and whether there are more frames than requests need. Every frame takes one
/// from an allowance. Since the type of the frame does not matter, unforeseen types are bounded, too. Requests and time
/// add to the allowance.
struct FrameMeter {
    /// The largest allowance, that is, how many frames may come at once.
    static let burst = 1000
    /// Frames that a request adds to the allowance: its data, and window updates for its response.
    static let perRequest = 16
    /// Frames that a second adds to the allowance.
    static let perSecond = 100

    /// Octets of the connection preface (RFC 9113 §3.4).
    private static let preface = 24
    private static let headSize = 9

    /// Since when something is incomplete: the preface and the first request, a frame, or the frames of a header block.
    ///
    /// Nil if everything received is complete.
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

    /// Counts received frames.
    ///
    /// - Returns: Whether the allowance was sufficient.
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
