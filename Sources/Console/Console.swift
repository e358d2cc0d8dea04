package import AdministrationAPI
import Domain
import Encodings
import HTTP
package import Hummingbird
import Pages

// Console — the web console of operators, on the management listener.
//
// It owns its pages and their parts: the layout, the sign-in of an operator in a browser, and the check that a form
// comes from one of its own pages.
//
// It must not know the database, a use case, or what an operator may do. Everything that it shows or changes is a call
// of the administration's routes with the session's token, which passes the same checks as a call over the network. It
// asks for the caller's role only to leave out what would be refused.

/// The web console and its configuration.
package struct Console: Sendable {
    /// The console's origin in browsers, such as `https://admin.example.com`; nil when it is not configured.
    let origin: String?
    /// The URL at which clients reach the service; nil when it is not configured.
    let publicURL: String?
    /// The known provider kinds.
    let kinds: [ProviderCard]
    let calls: AdministrationCalls

    package init(origin: String?, publicURL: String?, kinds: [ProviderCard], calls: AdministrationCalls) {
        self.origin = origin
        self.publicURL = publicURL
        self.kinds = kinds
        self.calls = calls
    }

    /// Whether browsers reach the console by HTTPS.
    var isReachedByTLS: Bool { origin?.utf8.starts(with: "https://".utf8) ?? false }

    /// The cookie with the session.
    var cookie: BrowserCookie { BrowserCookie("federation-console", isSecure: isReachedByTLS, sameSite: .strict) }

    var forms: FormGuard { FormGuard(of: "federation console", at: origin) }

    package func mount(on router: Router<ManagementContext>) {
        Assets.mount(on: router)
        mountSignIn(on: router)
        mountOverview(on: router)
        mountApplications(on: router)
        mountSetup(on: router)
        mountSettings(on: router)
        mountKeys(on: router)
        mountProperties(on: router)
        mountMappings(on: router)
        mountPeople(on: router)
        mountInvitations(on: router)
        mountLogins(on: router)
        mountAudit(on: router)
        mountOperators(on: router)
        mountService(on: router)
    }

    typealias Show = @Sendable (Visit) async throws -> Page
    typealias Act = @Sendable (Visit, FormFields) async throws -> Outcome
    typealias ShowAgain = @Sendable (Visit, FormFields, Refusal) async throws -> Page

    /// Adds a page for operators who have signed in.
    func page(_ path: RouterPath, on router: Router<ManagementContext>, _ show: @escaping Show) {
        router.get(path) { request, context in
            try await answer(request, context) { visit in try await show(visit).response(to: visit) }
        }
    }

    /// Adds the action of a form on one of the console's pages.
    ///
    /// When the action is refused, the page is shown again with the typed values and the reason.
    func action(
        _ path: RouterPath,
        on router: Router<ManagementContext>,
        again: ShowAgain? = nil,
        _ act: @escaping Act
    ) {
        router.post(path) { request, context in
            try await answer(request, context) { visit in
                let form = try await request.formBody(upTo: Self.formLimit, fields: Self.mostFields)
                try forms.check(form, of: request, secret: visit.token)
                func asking(_ refusal: Refusal) async throws -> Response {
                    // The form is kept, so that no typed value is lost.
                    let page = try await FactorForm.page(for: form, at: request.uri.path, refusal, visit)
                    return try page.response(to: visit)
                }
                do { try await FactorForm.show(with: form, visit) } catch let refusal as Refusal {
                    return try await asking(refusal)
                }
                do {
                    return try await Refusal.ofFailures { try await act(visit, form) }.response(to: visit)
                } catch let refusal as Refusal where refusal.asksForFactor {
                    return try await asking(refusal)
                } catch let refusal as Refusal {
                    guard let again, !refusal.endsSession else { throw refusal }
                    return try await again(visit, form, refusal).saying(refusal).response(to: visit)
                }
            }
        }
    }

    /// Returns the pages above those of an application.
    static func trail(of application: String) -> [(title: String, path: String)] {
        [("Applications", "/console/applications"), (application, consolePath("applications", application))]
    }

    /// Returns the pages above those of a user.
    static func peopleTrail(of application: String) -> [(title: String, path: String)] {
        trail(of: application) + [("People", consolePath("applications", application, "users"))]
    }

    /// Parses typed JSON.
    ///
    /// - Throws: `malformed_request`, whose message names the place of the error.
    static func parsed(_ text: String, _ what: String) throws(Failure) -> JSONValue {
        do { return try JSONParser.parse(text, limits: .document) } catch {
            throw Failure(.malformedRequest, "The \(what) is no JSON: \(error)")
        }
    }

    /// Bytes of the largest form, which is an application document, percent-encoded.
    private static let formLimit = 3_145_728

    /// The most fields of a form, which is a mapping to all properties that an application can have.
    private static let mostFields = 4096

    /// Identifies the operator, and turns every refusal into a page.
    ///
    /// The identity is not needed (`identifies`) where the page shows only the result of a call, which is refused
    /// without a valid session.
    func answer(
        _ request: Request,
        _ context: ManagementContext,
        identifies: Bool = true,
        _ body: (Visit) async throws -> Response
    ) async throws -> Response {
        let here = request.uri.description
        guard let token = cookie.value(in: request.headers) else {
            return Page.redirect(to: SignInPage.path(returningTo: request.method == .get ? here : "/console"))
        }
        var visit = Visit(token: token, console: self, request: request, context: context)
        do {
            return try await Refusal.ofFailures {
                if identifies { try await visit.identify() }
                return try await body(visit)
            }
        } catch let refusal as Refusal {
            if refusal.endsSession {
                var response = Page.redirect(
                    to: SignInPage.path(returningTo: request.method == .get ? here : "/console")
                )
                response.headers[.setCookie] = cookie.removal
                return response
            }
            if refusal.asksForFactor { return Page.redirect(to: FactorForm.path(returningTo: here)) }
            return try Page.refused(refusal).response(to: visit)
        }
    }
}

/// The result of a form.
enum Outcome {
    /// A redirect to another page.
    case redirect(String)
    /// A redirect to another page, which says what was done.
    case done(Notice, String)
    /// The page again, with problems or a preview.
    case page(Page)
    /// A download of JSON with a file name.
    case file(String, String)

    fileprivate func response(to visit: Visit) throws -> Response {
        switch self {
        case .redirect(let path): Page.redirect(to: path)
        case .done(let notice, let path): Page.redirect(to: notice.path(path))
        case .page(let page): try page.response(to: visit)
        case .file(let name, let text): Page.file(name, text)
        }
    }
}
