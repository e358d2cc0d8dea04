import FoundationEssentials
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
    private(set) var version: GraphVersion?
    /// The path's components without the version.
    let components: [String]
    /// Graph does not care; the website does.
    let endsWithSlash: Bool
    /// `http://` and the host and port that the client called.
    let origin: String
    /// Query first, form body after it, in their order.
    private(set) var parameters: [Parameter]
    private(set) var accessToken: String?
    /// The path as it was written, which is what OAuth 1.0a signs.
    let writtenPath: String
    /// The `Authorization` header.
    let authorization: String?
    /// The body is of a kind that nobody here reads.
    let hasUnreadBody: Bool
    /// The whole of which this is an operation, if it is one.
    private(set) var isPartOfBatch = false

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
        let content = ContentType(head.headers.first(name: "content-type"))
        if let body, !body.isEmpty {
            switch content {
            case .form: Self.append(body, to: &parameters)
            case .json: Self.append(json: body, to: &parameters)
            case .other: break
            }
        }
        hasUnreadBody = content == .other && !(body?.isEmpty ?? true)
        self.parameters = parameters

        accessToken =
            Self.last("access_token", of: parameters)
            ?? Self.credentials(authorization, of: ["bearer", "oauth"])
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

    /// Takes over what holds for the whole batch: the version, and the access token with its proof, where the operation
    /// has none of its own.
    mutating func become(operationOf batch: GraphRequest) {
        isPartOfBatch = true
        version = version ?? batch.version
        guard accessToken == nil else { return }
        accessToken = batch.accessToken
        for name in ["appsecret_proof", "appsecret_time"] where parameter(name) == nil {
            if let value = batch.parameter(name) { parameters.append(Parameter(name: name, value: value)) }
        }
    }

    /// The app's id and secret: parameters, or HTTP Basic (RFC 6749 §2.3.1) for what no parameter says.
    var client: (id: String?, secret: String?) {
        let basic = Self.credentials(authorization, of: ["basic"]).flatMap(Self.idAndSecret)
        return (parameter("client_id") ?? basic?.id, parameter("client_secret") ?? basic?.secret)
    }

    /// What follows the scheme in an `Authorization` header, when it is one of these.
    private static func credentials(_ header: String?, of schemes: [String]) -> String? {
        guard let header, let space = header.utf8.firstIndex(of: 0x20) else { return nil }
        guard schemes.contains(header[..<space].lowercased()) else { return nil }
        return String(header[header.utf8.index(after: space)...].drop { $0 == " " })
    }

    private static func idAndSecret(_ base64: String) -> (id: String, secret: String)? {
        guard let bytes = Data(base64Encoded: base64), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            return nil
        }
        let secret = bytes[bytes.index(after: colon)...]
        return (decoded(bytes[..<colon], plusIsSpace: true), decoded(secret, plusIsSpace: true))
    }

    /// A JSON body is as good as a form: each member is a parameter, what is no text as its JSON.
    private static func append(json body: ByteBufferView, to parameters: inout [Parameter]) {
        guard let members = try? JSON(parsing: body).members else { return }
        for member in members where member.value != .null {
            let text = member.value.string ?? String(decoding: member.value.plainBytes, as: UTF8.self)
            parameters.append(Parameter(name: member.name, value: text))
        }
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

/// What a body may be.
private enum ContentType {
    case form
    case json
    case other

    init(_ header: String?) {
        let name = header?.prefix { $0 != ";" && $0 != " " }.lowercased()
        self =
            switch name {
            case nil, "application/x-www-form-urlencoded": .form
            case "application/json": .json
            default: .other
            }
    }
}
