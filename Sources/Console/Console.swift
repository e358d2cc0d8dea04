package import AdministrationAPI
import Domain
import Encodings
import HTTP
package import Hummingbird
import Pages

// Console — the web console of operators, on the management listener.
//
// This module owns its pages and their parts: the layout, the login of an operator in a browser, and the check that a
// form comes from one of the console's own pages.
//
// It must not know the database, a use case, or what an operator may do. Everything that a page shows or changes is a
// call of the administration's routes with the session's token. The call passes the same checks as a call over the
// network. The console reads the operator's role only to leave out what the administration would refuse.

/// The web console and its configuration.
package struct Console: Sendable {
    /// The console's origin in browsers, such as `https://admin.example.com`; nil when it is not configured.
    let origin: String?
    /// The URL at which clients reach the service; nil when it is not configured.
    let publicURL: String?
    /// What the console shows of each provider kind that the service supports.
    let kinds: [ProviderCard]
    let calls: AdministrationCalls

    package init(origin: String?, publicURL: String?, kinds: [ProviderCard], calls: AdministrationCalls) {
        self.origin = origin
        self.publicURL = publicURL
        self.kinds = kinds
        self.calls = calls
    }

    /// Whether the console's configured origin uses HTTPS.
    var isReachedByTLS: Bool { origin?.utf8.starts(with: "https://".utf8) ?? false }

    /// The cookie with the token of an operator's session in the console.
    var cookie: BrowserCookie { BrowserCookie("federation-console", isSecure: isReachedByTLS, sameSite: .strict) }

    var forms: FormGuard { FormGuard(of: "federation console", at: origin) }

    package func mount(on router: Router<ManagementContext>) {
        Assets.mount(on: router)
        mountLogin(on: router)
        mountOverview(on: router)
        mountApplications(on: router)
        mountSetup(on: router)
        mountSettings(on: router)
        mountKeys(on: router)
        mountProperties(on: router)
        mountMappings(on: router)
        mountUsers(on: router)
        mountInvitations(on: router)
        mountLogins(on: router)
        mountAudit(on: router)
        mountOperators(on: router)
        mountService(on: router)
    }

    typealias Show = @Sendable (Visit) async throws -> Page
    typealias Act = @Sendable (Visit, FormFields) async throws -> Outcome
    typealias ShowAgain = @Sendable (Visit, FormFields, Refusal) async throws -> Page

    /// Adds a page for operators who are logged in.
    func page(_ path: RouterPath, on router: Router<ManagementContext>, _ show: @escaping Show) {
        router.get(path) { request, context in
            try await answer(request, context) { visit in try await show(visit).response(to: visit) }
        }
    }

    /// Handles a form on one of the console's pages.
    ///
    /// If the administration refuses the form's action, the response is the same page with the typed values and the
    /// reason.
    func action(
        _ path: RouterPath,
        on router: Router<ManagementContext>,
        again: ShowAgain? = nil,
        _ act: @escaping Act
    ) {
        router.post(path) { request, context in
            try await answer(request, context) { visit in
                let form = try await request.formBody(upTo: Self.formLimit, fields: Self.maxFields)
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

    /// Returns the links to the pages above an application's page, for its breadcrumb navigation.
    static func trail(of application: String) -> [(title: String, path: String)] {
        [("Applications", "/console/applications"), (application, consolePath("applications", application))]
    }

    /// Returns the links to the pages above a user's page, for its breadcrumb navigation.
    static func usersTrail(of application: String) -> [(title: String, path: String)] {
        trail(of: application) + [("Users", consolePath("applications", application, "users"))]
    }

    /// Parses JSON that an operator typed.
    ///
    /// - Throws: `malformed_request`. The message names the position of the error.
    static func parsed(_ text: String, _ what: String) throws(Failure) -> JSONValue {
        do { return try JSONParser.parse(text, limits: .document) } catch {
            throw Failure(.malformedRequest, "The \(what) is not valid JSON: \(error)")
        }
    }

    /// The maximum size of a form in bytes.
    ///
    /// The largest form contains a percent-encoded application document.
    private static let formLimit = 3_145_728

    /// The maximum number of fields of a form.
    ///
    /// The largest form is a mapping to all properties that an application can have.
    private static let maxFields = 4096

    /// Reads the operator's name and role, runs `body`, and turns every refusal into a page.
    ///
    /// With `identifies` false, the method reads neither the name nor the role. A page that shows only the result of
    /// one call does not need them: without a valid session, the administration refuses that call.
    func answer(
        _ request: Request,
        _ context: ManagementContext,
        identifies: Bool = true,
        _ body: (Visit) async throws -> Response
    ) async throws -> Response {
        let here = request.uri.description
        guard let token = cookie.value(in: request.headers) else {
            return Page.redirect(to: ConsoleLoginPage.path(returningTo: request.method == .get ? here : "/console"))
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
                    to: ConsoleLoginPage.path(returningTo: request.method == .get ? here : "/console")
                )
                response.headers[.setCookie] = cookie.removal
                return response
            }
            if refusal.asksForFactor { return Page.redirect(to: FactorForm.path(returningTo: here)) }
            return try Page.refused(refusal).response(to: visit)
        }
    }
}

/// The response to a form that an operator has sent.
enum Outcome {
    /// A redirect to another page.
    case redirect(String)
    /// A redirect to another page, with a notice about the completed action.
    case done(Notice, String)
    /// The same page again, with problems or a preview.
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
