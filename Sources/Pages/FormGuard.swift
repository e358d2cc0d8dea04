import Crypto
package import Domain
import Encodings
import HTTP
import HTTPTypes
package import Hummingbird

/// A check that a form comes from a page of the service, not from another site.
package struct FormGuard: Sendable {
    /// The form field with the token that binds the form to a page of its browser.
    package static let field = "form"

    private let pages: String
    private let origin: String?

    /// - Parameters:
    ///   - pages: The name of the pages: a form of other pages is not accepted for these.
    ///   - origin: The origin at which browsers reach the pages, such as `https://users.example.com`; nil if the
    ///     configuration does not say.
    package init(of pages: String, at origin: String?) {
        self.pages = pages
        self.origin = origin
    }

    /// Returns the token of a browser's forms, derived from a secret that the browser keeps and no other page knows.
    private func token(of secret: String) -> String {
        Hexadecimal.encode(SHA256.hash(data: Array("\(pages) form\n\(secret)".utf8)))
    }

    /// Refuses a form that a page of another origin has sent.
    ///
    /// Browsers send the origin in `Sec-Fetch-Site` or `Origin`. A request with neither header is checked by the token
    /// alone.
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

    /// Returns the hidden field with the token of a browser's secret.
    package func hidden(for secret: String) -> HTML { .hidden(Self.field, token(of: secret)) }

    /// Refuses a form from another origin, or without the token of the browser's secret.
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
    fileprivate static let secFetchSite = HTTPField.Name(known: "Sec-Fetch-Site")
}
