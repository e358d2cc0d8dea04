import HTTPTypes

/// The request headers that a page of another origin wants to send, as its CORS preflight names them.
///
/// A header that the service does not know has no effect. A page that adds such a header for tracing or for a library
/// must not be refused. So all headers are allowed, except those that could make a proxy, or this service, mistake the
/// method, target or source of the request. No page can send the browser's own headers, such as `Cookie` and `Host`.
struct RequestedHeaders {
    /// The prefixes of the names of headers that no page may send.
    ///
    /// In most of these headers, proxies send the source of a request or its original target.
    private static let refusedBeginnings = ["x-forwarded-", "x-original-", "x-rewrite-", "proxy-", "sec-"]
    /// Further names of headers that no page may send.
    ///
    /// Some servers read the method, the target or the source of a request from these headers.
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

    /// The names of the headers that the page may send, separated by commas; nil if there are none.
    var allowed: String? {
        let allowed = names.filter { name in
            !Self.refused.contains(name) && !Self.refusedBeginnings.contains { name.hasPrefix($0) }
        }
        return allowed.isEmpty ? nil : allowed.joined(separator: ", ")
    }
}
