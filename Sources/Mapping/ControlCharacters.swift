extension Unicode.Scalar {
    /// Whether the scalar is a control character or a line separator, which would break a line of a log or a terminal.
    var isControl: Bool {
        switch value {
        case 0x00..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }
}
