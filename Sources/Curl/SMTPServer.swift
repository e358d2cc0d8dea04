internal import CLibCurl

/// An SMTP server and the settings of the connection.
///
/// With a URL `smtps://user:password@mail.example.com`, TLS begins with the first byte; the default port is 465. With
/// `smtp://…`, TLS begins after STARTTLS, and nothing is sent to a server that does not offer STARTTLS; the default
/// port is 587. With `smtp://127.0.0.1:25?starttls=off` there is no TLS. This is accepted only for a server on the same
/// machine.
package struct SMTPServer: Sendable {
    enum Security: Sendable {
        case tls, startTLS, none
    }

    /// The server's URL without user and password: `smtp://host:port` or `smtps://host:port`.
    let origin: String
    let security: Security
    let user: String?
    let password: String?

    /// Parses and checks `url`.
    ///
    /// - Throws: `InvalidSMTPServer` with the problem, without repeating the text.
    package init(url: String) throws(InvalidSMTPServer) {
        let parsed: ParsedURL
        do { parsed = try ParsedURL(url, flags: CURLU_PATH_AS_IS) } catch {
            throw InvalidSMTPServer(problem: "is no URL of a mail server")
        }
        let (scheme, port): (String, String)
        switch parsed.part(CURLUPART_SCHEME) {
        case "smtp": (scheme, port) = ("smtp", "587")
        case "smtps": (scheme, port) = ("smtps", "465")
        default: throw InvalidSMTPServer(problem: "begins neither with smtp:// nor with smtps://")
        }
        guard let host = parsed.part(CURLUPART_HOST), parsed.part(CURLUPART_ZONEID) == nil else {
            throw InvalidSMTPServer(problem: "names no host")
        }
        guard ["/", nil].contains(parsed.part(CURLUPART_PATH)), parsed.part(CURLUPART_FRAGMENT) == nil else {
            throw InvalidSMTPServer(problem: "has something behind the host and port")
        }
        switch (parsed.part(CURLUPART_QUERY), scheme) {
        case (nil, "smtps"): security = .tls
        case (nil, _): security = .startTLS
        case ("starttls=off", "smtp"):
            guard LoopbackAddress.contains(host: host) else {
                throw InvalidSMTPServer(problem: "does without TLS beyond this machine")
            }
            security = .none
        default: throw InvalidSMTPServer(problem: "has an unknown option; there is starttls=off, for smtp://")
        }
        origin = "\(scheme)://\(host):\(parsed.part(CURLUPART_PORT) ?? port)"
        user = try Self.decoded(CURLUPART_USER, of: parsed)
        password = try Self.decoded(CURLUPART_PASSWORD, of: parsed)
        guard (user == nil) == (password == nil) else {
            throw InvalidSMTPServer(problem: "has a user without a password, or the other way round")
        }
    }

    private static func decoded(_ part: CURLUPart, of url: ParsedURL) throws(InvalidSMTPServer) -> String? {
        guard url.part(part) != nil else { return nil }
        guard let text = url.decodedPart(part) else {
            throw InvalidSMTPServer(problem: "has a control character in the user or the password")
        }
        return text
    }
}

extension SMTPServer: CustomStringConvertible, CustomReflectable {
    /// Scheme, host and port; never the user or the password.
    package var description: String { origin }

    package var customMirror: Mirror { Mirror(self, children: ["origin": origin]) }
}

/// The reason why a text is not the URL of a usable mail server.
package struct InvalidSMTPServer: Error, CustomStringConvertible {
    package let problem: String
    package var description: String { problem }
}
