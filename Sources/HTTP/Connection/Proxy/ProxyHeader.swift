import NIOCore

/// The header of the PROXY protocol, version 2, in which a proxy names a connection's source.
///
/// Reference: HAProxy's "The PROXY protocol", section 2.2.
enum ProxyHeader: Equatable {
    /// The header is not complete.
    case incomplete
    /// The header is complete and has `length` bytes. The source is nil for a connection that the proxy opened for
    /// itself, and for an address that is neither IPv4 nor IPv6.
    case whole(length: Int, source: SocketAddress?)
    case faulty(Fault)

    /// Why a header is refused.
    enum Fault: String, CaseIterable {
        case none = "the connection does not begin with a header of the PROXY protocol"
        case version1 = "the PROXY protocol has version 1; have the proxy send version 2 (send-proxy-v2)"
        case version = "the PROXY protocol has a version that is not 2"
        case command = "the PROXY protocol has a command that is neither LOCAL nor PROXY"
        case family = "the PROXY protocol names a family of addresses that no stream has"
        case short = "the header of the PROXY protocol is shorter than its addresses"
        case long = "the header of the PROXY protocol is longer than 2048 bytes"
    }

    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    /// The size of the fixed part: signature, version and command, family and protocol, and two bytes of length.
    private static let fixed = 16
    private static let longest = 2048

    /// Reads the header at the beginning of the bytes.
    ///
    /// The header may have further data after the addresses; the function skips them.
    static func read(_ bytes: ByteBuffer) -> ProxyHeader {
        let view = bytes.readableBytesView
        guard view.starts(with: signature.prefix(view.count)) else {
            let isVersion1 = view.starts(with: "PROXY ".utf8.prefix(view.count)) && !view.isEmpty
            return isVersion1 && view.count < 6 ? .incomplete : .faulty(isVersion1 ? .version1 : .none)
        }
        var rest = bytes
        guard rest.readableBytes >= fixed else { return .incomplete }
        rest.moveReaderIndex(forwardBy: signature.count)
        guard let kind = rest.readInteger(as: UInt8.self), let family = rest.readInteger(as: UInt8.self),
            let length = rest.readInteger(as: UInt16.self).map(Int.init)
        else { return .incomplete }
        guard kind >> 4 == 2 else { return .faulty(.version) }
        guard kind & 0xF <= 1 else { return .faulty(.command) }
        guard fixed + length <= longest else { return .faulty(.long) }
        let isLocal = kind & 0xF == 0
        let size: Int
        switch (isLocal, family) {
        case (true, _), (false, 0x00): size = 0
        case (false, 0x11): size = 12
        case (false, 0x21): size = 36
        case (false, 0x31): size = 216
        default: return .faulty(.family)
        }
        guard length >= size else { return .faulty(.short) }
        guard rest.readableBytes >= length else { return .incomplete }
        return .whole(length: fixed + length, source: address(in: &rest, size: size))
    }

    /// Reads the address and port of the source.
    ///
    /// The addresses of source and destination come first, then both ports.
    private static func address(in rest: inout ByteBuffer, size: Int) -> SocketAddress? {
        let width = size == 12 ? 4 : size == 36 ? 16 : 0
        guard width > 0, let source = rest.readSlice(length: width), rest.readSlice(length: width) != nil,
            let port = rest.readInteger(as: UInt16.self)
        else { return nil }
        return try? SocketAddress(packedIPAddress: source, port: Int(port))
    }
}
