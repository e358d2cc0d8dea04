/// An HTTP request that Facebook makes to an app.
struct Call: Sendable {
    let address: GraphSimulator.Address
    /// Path and query.
    let target: String
    let method: String
    let headers: [(name: String, value: String)]
    let body: [UInt8]

    private init(
        to url: String,
        method: String,
        headers: [(name: String, value: String)] = [],
        body: some Sequence<UInt8>
    ) throws(DataError) {
        let wrong = DataError(path: "url", reason: "expected http://host:port/path in ASCII")
        let scheme = "http://"
        guard url.utf8.starts(with: scheme.utf8), url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw wrong
        }
        let rest = url.dropFirst(scheme.count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let host = String(rest[..<end])
        guard let address = GraphSimulator.Address(host) ?? GraphSimulator.Address(host + ":80") else { throw wrong }
        self.address = address
        target = (rest[end...].hasPrefix("/") ? "" : "/") + rest[end...]
        self.method = method
        self.body = Array(body)
        self.headers = [("Host", host), ("User-Agent", "facebookexternalua"), ("Accept", "*/*")] + headers
    }

    /// `POST` of a form with `signed_request`.
    static func signedRequest(_ text: String, to url: String) throws(DataError) -> Call {
        try Call(
            to: url,
            method: "POST",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: FormEncoding.encode([("signed_request", text)]).utf8
        )
    }

    /// `POST` of an event.
    static func webhook(_ webhook: Webhook, to url: String) throws(DataError) -> Call {
        let signatures = [
            ("X-Hub-Signature", webhook.legacySignature), ("X-Hub-Signature-256", webhook.signature),
        ]
        return try Call(
            to: url,
            method: "POST",
            headers: [("Content-Type", "application/json")]
                + signatures.compactMap { name, value in
                    value.map { (name, $0) }
                },
            body: webhook.body.utf8
        )
    }

    /// `GET` with which a webhook's address is confirmed.
    static func handshake(verifyToken: String, challenge: String, to url: String) throws(DataError) -> Call {
        let query = FormEncoding.encode([
            ("hub.mode", "subscribe"), ("hub.challenge", challenge), ("hub.verify_token", verifyToken),
        ])
        return try Call(to: url + (url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query, method: "GET", body: [])
    }
}
