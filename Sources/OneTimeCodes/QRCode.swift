import CQREncode

/// A text as a QR code (ISO/IEC 18004), to be scanned off a screen.
package struct QRCode: Sendable, Equatable {
    /// The rows of modules from top to bottom, each from left to right, without the quiet zone; true for a dark module.
    package let modules: [[Bool]]

    /// The width of the quiet zone: ISO/IEC 18004 requires four light modules on every side.
    static let quietZone = 4

    /// Encodes a text; nil for an empty text, and for one of more than 2331 bytes of UTF-8.
    ///
    /// The error correction level is M, which is usual on screens: a scanner can read the code even if 15 percent of it
    /// is damaged.
    package init?(_ text: String) {
        var text = text
        let code = text.withUTF8 { QRcode_encodeData(Int32($0.count), $0.baseAddress, 0, QR_ECLEVEL_M) }
        guard let code else { return nil }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        let bytes = UnsafeBufferPointer(start: code.pointee.data, count: width * width)
        // The lowest bit is the module; the other bits are libqrencode's own.
        modules = (0..<width).map { row in (0..<width).map { bytes[row * width + $0] & 1 == 1 } }
    }

    /// The code as an SVG image, with modules as units.
    ///
    /// The image sets no size, script or style, so it fits into any web page.
    package var svg: String {
        let side = modules.count + 2 * Self.quietZone
        var path = ""
        for (y, row) in modules.enumerated() {
            var x = 0
            while let start = row[x...].firstIndex(of: true) {
                x = row[start...].firstIndex(of: false) ?? row.endIndex
                path += "M\(start + Self.quietZone) \(y + Self.quietZone)h\(x - start)v1h-\(x - start)z"
            }
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(side) \(side)" shape-rendering="crispEdges">\
            <rect width="\(side)" height="\(side)" fill="#fff"/><path fill="#000" d="\(path)"/></svg>
            """
    }
}
