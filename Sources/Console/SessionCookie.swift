import HTTPTypes
import Hummingbird

/// The cookie that holds the session: no script reads it, no other site sends it.
struct SessionCookie {
    private let isSecure: Bool

    init(of console: Console) {
        isSecure = console.isReachedByTLS
    }

    /// Browsers hold a name of this beginning to HTTPS, one host and the whole of it; without HTTPS, which is for
    /// loopback alone, they would not take it.
    private var name: String { isSecure ? "__Host-federation-console" : "federation-console" }

    private var attributes: String { "; Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "") }

    func header(_ token: String) -> String { "\(name)=\(token)\(attributes)" }

    var removal: String { "\(name)=\(attributes); Max-Age=0" }

    func token(in request: Request) -> String? {
        let cookies = request.headers[values: .cookie].flatMap { $0.split(separator: ";") }
        for cookie in cookies {
            let pair = cookie.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0] == name, pair[1].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                continue
            }
            return String(pair[1])
        }
        return nil
    }
}
