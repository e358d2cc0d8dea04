import NIOCore
import NIOHTTP1

/// A request on the public port, taken apart as Graph does: version, path, and parameters from wherever they came.
struct GraphRequest: Sendable {
    /// A parameter after decoding.
    struct Parameter: Sendable {
        let name: String
        let value: String
    }

    /// The method that counts: a POST with a `method` parameter is what that parameter says.
    let method: String
    let version: GraphVersion?
    /// The path's components without the version.
    let components: [String]
    /// Graph does not care; the website does.
    let endsWithSlash: Bool
    /// `http://` and the host and port that the client called.
    let origin: String
    /// Query first, form body after it, in their order.
    let parameters: [Parameter]
    let accessToken: String?
    /// The path as it was written, which is what OAuth 1.0a signs.
    let writtenPath: String
    /// The `Authorization` header.
    let authorization: String?

    init(head: HTTPRequestHead, body: ByteBufferView?) {
        let uri = head.uri.utf8
        let question = uri.firstIndex(of: UInt8(ascii: "?"))
        let path = uri[..<(question ?? uri.endIndex)]
        var components = path.split(separator: UInt8(ascii: "/")).map { Self.decoded($0, plusIsSpace: false) }
        endsWithSlash = path.last == UInt8(ascii: "/")
        origin = "http://" + (head.headers.first(name: "host") ?? "localhost")
        version = components.first.flatMap(GraphVersion.init(pathComponent:))
        if version != nil { components.removeFirst() }
        self.components = components
        writtenPath = String(decoding: path, as: UTF8.self)
        authorization = head.headers.first(name: "authorization")

        var parameters: [Parameter] = []
        if let question { Self.append(uri[uri.index(after: question)...], to: &parameters) }
        if let body, !body.isEmpty, Self.isForm(head.headers.first(name: "content-type")) {
            Self.append(body, to: &parameters)
        }
        self.parameters = parameters

        accessToken = Self.last("access_token", of: parameters) ?? Self.bearer(head.headers)
        var method = head.method.rawValue
        if head.method == .HEAD { method = "GET" }
        if head.method == .POST, let override = Self.last("method", of: parameters), override.utf8.count <= 10 {
            method = override.uppercased()
        }
        self.method = method
    }

    /// The parameter's value; the last one when it is given twice, as PHP does it.
    func parameter(_ name: String) -> String? {
        Self.last(name, of: parameters)
    }

    /// The path as faults and the log name it: `me/permissions`, without version.
    var path: String { components.joined(separator: "/") }

    private static func last(_ name: String, of parameters: [Parameter]) -> String? {
        parameters.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    private static func isForm(_ contentType: String?) -> Bool {
        contentType?.utf8.starts(with: "application/x-www-form-urlencoded".utf8) ?? true
    }

    private static func bearer(_ headers: HTTPHeaders) -> String? {
        guard let value = headers.first(name: "authorization"), let space = value.utf8.firstIndex(of: 0x20) else {
            return nil
        }
        let scheme = value[..<space].lowercased()
        guard scheme == "bearer" || scheme == "oauth" else { return nil }
        return String(value[value.utf8.index(after: space)...].drop { $0 == " " })
    }

    private static func append<Bytes: Collection<UInt8>>(_ form: Bytes, to parameters: inout [Parameter]) {
        for pair in form.split(separator: UInt8(ascii: "&")) {
            let equals = pair.firstIndex(of: UInt8(ascii: "="))
            let value = equals.map { decoded(pair[pair.index(after: $0)...], plusIsSpace: true) }
            parameters.append(
                Parameter(name: decoded(pair[..<(equals ?? pair.endIndex)], plusIsSpace: true), value: value ?? "")
            )
        }
    }

    /// Percent-decodes; a `%` without two digits stays what it is, bytes that are no UTF-8 become U+FFFD.
    private static func decoded(_ text: some Collection<UInt8>, plusIsSpace: Bool) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index != text.endIndex {
            let byte = text[index]
            text.formIndex(after: &index)
            if byte == UInt8(ascii: "%"), let escaped = escapedByte(text[index...]) {
                bytes.append(escaped)
                text.formIndex(&index, offsetBy: 2)
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func escapedByte(_ text: some Collection<UInt8>) -> UInt8? {
        var digits = text.makeIterator()
        guard let high = digits.next().flatMap(nibble), let low = digits.next().flatMap(nibble) else { return nil }
        return high << 4 | low
    }

    private static func nibble(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
