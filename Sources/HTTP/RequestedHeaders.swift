import HTTPTypes

/// The header fields that a page wants to send, as a preflight names them.
///
/// A field that means nothing here changes nothing, and who adds one (for tracing, for a library) must not be refused
/// for it: so all are allowed but for those that make a request another one on its way, for us or for a proxy in front.
/// Fields of the browser's own, like `Cookie` and `Host`, no page can send.
struct RequestedHeaders {
    /// Beginnings of the names of fields by which proxies say where a request comes from, and what it was before.
    private static let refusedBeginnings = ["x-forwarded-", "x-original-", "x-rewrite-", "proxy-", "sec-"]
    /// Fields by which some take a request for another method, target or source than it has.
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
