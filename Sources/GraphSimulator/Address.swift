extension GraphSimulator {
    /// A host and a port to listen on.
    public struct Address: Sendable, Equatable, CustomStringConvertible {
        /// A name or an IP address, without brackets.
        public var host: String
        /// 0 lets the system choose.
        public var port: Int

        /// Makes an address: a free port on the loopback interface unless told otherwise.
        public init(host: String = "127.0.0.1", port: Int = 0) {
            self.host = host
            self.port = port
        }

        /// Reads `127.0.0.1:9090` or `[::1]:9090`; `nil` for anything else.
        public init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
                return nil
            }
            var host = text[..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") {
                host = host.dropFirst().dropLast()
            } else if host.contains(":") {
                return nil
            }
            guard !host.isEmpty else { return nil }
            self.init(host: String(host), port: Int(port))
        }

        /// The form that ``init(_:)`` reads.
        public var description: String {
            host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }
}
