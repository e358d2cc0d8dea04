import Crypto
package import Domain
import Encodings
import HTTP
import HTTPTypes
package import Hummingbird

/// Checks that a form comes from a page of the service and not from another site (CSRF).
package struct FormGuard: Sendable {
    /// The name of the form field with the CSRF token, which binds the form to one browser.
    package static let field = "form"

    private let pages: String
    private let origin: String?

    /// Creates the check for a group of pages.
    ///
    /// - Parameters:
    ///   - pages: The name of the group. A CSRF token from a page of another group is not accepted.
    ///   - origin: The origin at which browsers reach the pages, such as `https://users.example.com`. Nil if the
    ///     configuration does not contain it.
    package init(of pages: String, at origin: String?) {
        self.pages = pages
        self.origin = origin
    }

    /// Returns the CSRF token of a browser's forms.
    ///
    /// The token is derived from a secret that only this browser has.
    private func token(of secret: String) -> String {
        Hexadecimal.encode(SHA256.hash(data: Array("\(pages) form\n\(secret)".utf8)))
    }

    /// Refuses a form that a page of another origin has sent.
    ///
    /// Browsers send the origin in `Sec-Fetch-Site` or `Origin`. If a request has neither header, only the CSRF token
    /// protects the form.
    ///
    /// - Throws: `malformed_request`.
    package func checkOrigin(of request: Request) throws(Failure) {
        let foreign = Failure(.malformedRequest, "This form was sent by another site and was not accepted.")
        if let site = request.headers[.secFetchSite], site != "same-origin", site != "none" { throw foreign }
        // The host of the request may differ from the host that the browser asked for: a proxy may change it.
        guard let sender = request.headers[.origin], sender != origin else { return }
        guard sender.split(separator: "://", maxSplits: 1).last.map(String.init) == request.head.authority else {
            throw foreign
        }
    }

    /// Returns the hidden form field with the CSRF token.
    ///
    /// The token is derived from the browser's secret.
    package func hidden(for secret: String) -> HTML { .hidden(Self.field, token(of: secret)) }

    /// Refuses a form from another origin, and a form without the CSRF token that belongs to the browser's secret.
    ///
    /// - Throws: `malformed_request`.
    package func check(_ form: FormFields, of request: Request, secret: String) throws(Failure) {
        try checkOrigin(of: request)
        let sent = try form.value(Self.field) ?? ""
        guard Array(sent.utf8).isEqualInConstantTime(to: Array(token(of: secret).utf8)) else {
            throw Failure(.malformedRequest, "This form belongs to another session. Reload the page and try again.")
        }
    }
}

extension HTTPField.Name {
    fileprivate static let secFetchSite = HTTPField.Name(known: "Sec-Fetch-Site")
}
