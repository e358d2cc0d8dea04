import HTTPTypes

/// The header fields that a page wants to send, as a preflight names them.
///
/// A field that means nothing here changes nothing, and a page that adds one for tracing or for a library must not be
/// refused: so all are allowed but for those by which a proxy in front, or this service, takes the request for another
/// one. The browser's own fields, such as `Cookie` and `Host`, no page can send.
struct RequestedHeaders {
    /// Beginnings of the names of fields by which proxies tell the source of a request, and its former target.
    private static let refusedBeginnings = ["x-forwarded-", "x-original-", "x-rewrite-", "proxy-", "sec-"]
    /// Fields that some servers take for the method, the target or the source of a request.
    private static let refused: Set<String> = [
        "forwarded", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "x-remote-ip", "x-remote-addr",
        "true-client-ip", "cf-connecting-ip", "fastly-client-ip", "x-http-method", "x-http-method-override",
        "x-method-override", "x-host",
    ]

    private let names: [String]

    init(_ fields: HTTPFields) {
        names = fields[values: .accessControlRequestHeaders]
            .flatMap { $0.split(separator: ",") }
            .compactMap { HTTPField.Name(String($0.drop { $0 == " " }.prefix { $0 != " " })) }
            .map(\.canonicalName)
    }

    /// Those that may be sent, with commas between them; nil when there is none.
    var allowed: String? {
        let allowed = names.filter { name in
            !Self.refused.contains(name) && !Self.refusedBeginnings.contains { name.hasPrefix($0) }
        }
        return allowed.isEmpty ? nil : allowed.joined(separator: ", ")
    }
}
