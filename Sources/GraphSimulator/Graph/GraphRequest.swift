import Encodings
import FoundationEssentials
import NIOCore
import NIOHTTP1

/// A request to a simulated API, parsed as Facebook's Graph API parses it.
///
/// The parsed request consists of a version, a path, and the parameters of query and body.
struct GraphRequest: Sendable {
    let head: HTTPRequestHead
    let body: ByteBufferView?
    /// The method by which the request is handled.
    ///
    /// In a POST request, the parameter `method` replaces the method of the request. HEAD counts as GET.
    let method: String
    private(set) var version: GraphVersion?
    /// The segments of the path, without the version.
    let components: [String]
    /// The path without version, such as `me/permissions`, for faults and the log.
    let path: String
    /// The path exactly as the client sent it.
    ///
    /// The signature of an OAuth 1.0a request covers this path.
    let writtenPath: String
    /// The parameters in their order: first those of the query, then those of the body.
    private(set) var parameters: [(name: String, value: String)]
    private(set) var accessToken: String?
    /// Whether the request has a body that the simulator ignores because of its content type.
    let hasUnreadBody: Bool
    /// Whether this request is one of the requests in a batch.
    private(set) var isPartOfBatch = false

    init(head: HTTPRequestHead, body: ByteBufferView?) {
        self.head = head
        self.body = body
        let parts = head.uri.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        writtenPath = parts.first.map { String(Substring($0)) } ?? ""
        var components = writtenPath.utf8.split(separator: UInt8(ascii: "/"))
            .map { Self.decoded(Substring($0), plusIsSpace: false) }
        version = components.first.flatMap(GraphVersion.init(pathComponent:))
        if version != nil { components.removeFirst() }
        self.components = components
        path = components.joined(separator: "/")

        var parameters = parts.count > 1 ? Self.pairs(Substring(parts[1])) : []
        var isUnread = false
        if let body, !body.isEmpty {
            switch head.headers.first(name: "content-type")?.prefix(while: { $0 != ";" && $0 != " " }).lowercased() {
            case nil, "application/x-www-form-urlencoded":
                parameters += Self.pairs(Substring(String(decoding: body, as: UTF8.self)))
            case "application/json": parameters += Self.members(of: body)
            default: isUnread = true
            }
        }
        hasUnreadBody = isUnread
        self.parameters = parameters

        accessToken =
            Self.last("access_token", of: parameters)
            ?? Self.credentials(head.headers.first(name: "authorization"), of: ["bearer", "oauth"])
        var method = head.method.rawValue
        if head.method == .HEAD { method = "GET" }
        if head.method == .POST, let override = Self.last("method", of: parameters), override.utf8.count <= 10 {
            method = override.uppercased()
        }
        self.method = method
    }

    /// Returns the value of a parameter; `nil` if there is no such parameter.
    ///
    /// If the parameter appears several times, its last value counts, as in PHP.
    func parameter(_ name: String) -> String? {
        Self.last(name, of: parameters)
    }

    /// The beginning of the URL to which the client sent the request: `http://`, host and port.
    var origin: String { "http://" + (head.headers.first(name: "host") ?? "localhost") }

    var authorization: String? { head.headers.first(name: "authorization") }

    private static func last(_ name: String, of parameters: [(name: String, value: String)]) -> String? {
        parameters.last { $0.name.hasSameBytes(as: name) }?.value
    }

    /// Marks this request as one of the requests in a batch.
    ///
    /// If this request has no version, it gets the version of the batch request. If it has no access token, it gets the
    /// access token of the batch request, with the `appsecret_proof`.
    mutating func become(operationOf batch: GraphRequest) {
        isPartOfBatch = true
        version = version ?? batch.version
        guard accessToken == nil else { return }
        accessToken = batch.accessToken
        for name in ["appsecret_proof", "appsecret_time"] where parameter(name) == nil {
            if let value = batch.parameter(name) { parameters.append((name, value)) }
        }
    }

    /// The app id and the app secret that the request contains.
    ///
    /// They are the parameters `client_id` and `client_secret`. An absent one is taken from HTTP Basic.
    var client: (id: String?, secret: String?) {
        let basic = basicClient
        return (parameter("client_id") ?? basic?.id, parameter("client_secret") ?? basic?.secret)
    }

    /// The id and the secret of a client in HTTP Basic (RFC 6749 §2.3.1); `nil` if the request has none.
    var basicClient: (id: String, secret: String)? {
        let basic = Self.credentials(authorization, of: ["basic"]).flatMap { Data(base64Encoded: $0) }
            .map { String(decoding: $0, as: UTF8.self) }
        let pair = basic?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { Self.decoded($0, plusIsSpace: true) }
        guard let pair, pair.count == 2 else { return nil }
        return (pair[0], pair[1])
    }

    /// The access token in the header `Authorization` (RFC 6750 §2.1); `nil` if the request has none.
    var bearerToken: String? { Self.credentials(authorization, of: ["bearer"]) }

    /// Returns the part of an `Authorization` header after the scheme; `nil` if the scheme is not one of the given
    /// ones.
    private static func credentials(_ header: String?, of schemes: [String]) -> String? {
        guard let header, let space = header.utf8.firstIndex(of: 0x20) else { return nil }
        guard schemes.contains(header[..<space].lowercased()) else { return nil }
        return String(header[header.utf8.index(after: space)...].drop { $0 == " " })
    }

    /// Returns the members of a JSON body as parameters.
    ///
    /// A value that is not a string becomes JSON text.
    private static func members(of body: ByteBufferView) -> [(name: String, value: String)] {
        let members = (try? JSON(parsing: body))?.members ?? []
        return members.filter { $0.value != .null }.map { ($0.name, $0.value.string ?? $0.value.plainText) }
    }

    private static func pairs(_ form: Substring) -> [(name: String, value: String)] {
        form.utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { decoded(Substring($0), plusIsSpace: true) }
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
    }

    /// Percent-decodes a text.
    ///
    /// A `%` without two digits stays unchanged, and invalid UTF-8 becomes U+FFFD.
    private static func decoded(_ text: Substring, plusIsSpace: Bool) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), case let digits = rest.prefix(2).compactMap(Hexadecimal.value(of:)),
                digits.count == 2
            {
                bytes.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Encodes parameters as HTML forms do.
///
/// A space becomes `+`.
enum FormEncoding {
    /// Encodes the parameters in their order, such as `a=1&b=c+d`.
    static func encode(_ parameters: [(name: String, value: String)]) -> String {
        PercentEncoding.query(parameters).replacing("%20", with: "+")
    }
}
