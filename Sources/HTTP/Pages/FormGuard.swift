import Crypto
import HTTPTypes
package import Hummingbird
package import Vocabulary

/// Tells the forms of our own pages from those that pages of others send.
package struct FormGuard: Sendable {
    /// The field of each form that shows whose page it stands in.
    package static let field = "form"

    private let pages: String
    private let origin: String?

    /// - Parameters:
    ///   - pages: What they are called: a form of others does not pass for one of these.
    ///   - origin: Where browsers reach them, as far as the configuration says, such as `https://users.example.com`.
    package init(of pages: String, at origin: String?) {
        self.pages = pages
        self.origin = origin
    }

    /// What the forms hold that a browser gets: made of a secret that the browser keeps and no other page knows.
    package func token(of secret: String) -> String {
        Hexadecimal.encode(SHA256.hash(data: Array("\(pages) form\n\(secret)".utf8)))
    }

    /// Refuses a form that a page of another origin sends; browsers tell, and whoever does not is held to the token.
    ///
    /// - Throws: `malformed_request`.
    package func checkOrigin(of request: Request) throws(Failure) {
        let foreign = Failure(.malformedRequest, "This form came from a page of somebody else, and was not taken.")
        if let site = request.headers[.secFetchSite], site != "same-origin", site != "none" { throw foreign }
        // A proxy may give the request another host than the browser has asked for.
        guard let sender = request.headers[.origin], sender != origin else { return }
        guard sender.split(separator: "://", maxSplits: 1).last.map(String.init) == request.head.authority else {
            throw foreign
        }
    }

    /// Refuses a form that does not come from a page that the browser got with the secret.
    ///
    /// - Throws: `malformed_request`.
    package func check(_ form: FormFields, of request: Request, secret: String) throws(Failure) {
        try checkOrigin(of: request)
        let sent = try form.value(Self.field) ?? ""
        guard Array(sent.utf8).isEqualInConstantTime(to: Array(token(of: secret).utf8)) else {
            throw Failure(.malformedRequest, "This form is of another session. Load the page again and repeat it.")
        }
    }
}

extension HTTPField.Name {
    static let secFetchSite = HTTPField.Name(known: "Sec-Fetch-Site")
    package static let clearSiteData = HTTPField.Name(known: "Clear-Site-Data")
    package static let openerPolicy = HTTPField.Name(known: "Cross-Origin-Opener-Policy")
    package static let resourcePolicy = HTTPField.Name(known: "Cross-Origin-Resource-Policy")
}
