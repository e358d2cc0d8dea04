package import API
import HTTP
import HTTPTypes
package import Hummingbird
import Vocabulary

// Console — the web console of operators, on the management listener.
//
// It owns its pages and what they are made of: how they look, how an operator signs in to a browser, and that a form
// comes from a page of ours.
//
// It must not know of the database, of a use case, or of what an operator may do: whatever it shows or changes is a
// call of the administration's routes, by the token of the session, which passes the same gate as one over the network.
// It asks for the caller's role only to leave out what would be refused.

/// The console, as it is mounted.
package struct Console: Sendable {
    /// Where browsers reach it, as far as the configuration says, such as `https://admin.example.com`.
    let origin: String?
    /// Where clients reach the service, as far as the configuration says.
    let publicURL: String?
    /// The kinds of providers that there are.
    let kinds: [ProviderCard]
    let calls: AdministrationCalls

    package init(origin: String?, publicURL: String?, kinds: [ProviderCard], calls: AdministrationCalls) {
        self.origin = origin
        self.publicURL = publicURL
        self.kinds = kinds
        self.calls = calls
    }

    /// Whether browsers reach it by HTTPS.
    var isReachedByTLS: Bool { origin?.utf8.starts(with: "https://".utf8) ?? false }

    /// What holds the session in a browser.
    var cookie: BrowserCookie { BrowserCookie("federation-console", isSecure: isReachedByTLS, sameSite: .strict) }

    var forms: FormGuard { FormGuard(of: "federation console", at: origin) }

    /// Mounts all pages.
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

    /// A page for who has signed in.
    func page(
        _ path: RouterPath,
        on router: Router<ManagementContext>,
        _ show: @escaping @Sendable (Visit) async throws -> Page
    ) {
        router.get(path) { request, context in
            try await answer(request, context) { visit in try await show(visit).response(to: visit) }
        }
    }

    /// What a form of a page of ours does.
    func action(
        _ path: RouterPath,
        on router: Router<ManagementContext>,
        _ act: @escaping @Sendable (Visit, FormFields) async throws -> Outcome
    ) {
        router.post(path) { request, context in
            try await answer(request, context) { visit in
                let form = try await request.formBody(upTo: Self.formLimit, fields: Self.mostFields)
                try forms.check(form, of: request, secret: visit.token)
                func again(_ refusal: Refusal) async throws -> Response {
                    // The form comes along, so that nothing that was typed is lost.
                    try await FactorForm.page(for: form, at: request.uri.path, refusal, visit).response(to: visit)
                }
                do { try await FactorForm.show(with: form, visit) } catch let refusal as Refusal {
                    return try await again(refusal)
                }
                do {
                    return switch try await act(visit, form) {
                    case .redirect(let path): Page.redirect(to: path)
                    case .done(let notice, let path): Page.redirect(to: notice.path(path))
                    case .page(let page): try page.response(to: visit)
                    case .file(let name, let text): Page.file(name, text)
                    }
                } catch let refusal as Refusal where refusal.asksForFactor {
                    return try await again(refusal)
                }
            }
        }
    }

    /// The pages above those of an application.
    static func trail(of application: String) -> [(title: String, path: String)] {
        [("Applications", "/console/applications"), (application, consolePath("applications", application))]
    }

    /// The pages above those of a person.
    static func peopleTrail(of application: String) -> [(title: String, path: String)] {
        trail(of: application) + [("People", consolePath("applications", application, "users"))]
    }

    /// Reads JSON that somebody has typed.
    ///
    /// - Throws: `malformed_request`, which says where it goes wrong.
    static func parsed(_ text: String, _ what: String) throws(Failure) -> JSONValue {
        do { return try JSONParser.parse(text, limits: .document) } catch {
            throw Failure(.malformedRequest, "The \(what) is no JSON: \(error)")
        }
    }

    /// Bytes of the largest form: a document of an application, percent-encoded.
    private static let formLimit = 3_145_728

    /// The fields of the longest form: a mapping into all properties that an application can have.
    private static let mostFields = 4096

    /// Finds out who asks, and makes a page of whatever is refused.
    ///
    /// Who it is need not be known (`identifies`) where no more is shown than a call answers, which is refused to
    /// whoever is nobody.
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
            do {
                if identifies { try await visit.identify() }
                return try await body(visit)
            } catch let failure as Failure {
                throw Refusal(failure)
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

/// What a form leads to.
enum Outcome {
    /// To another page.
    case redirect(String)
    /// To another page, which says what was done.
    case done(Notice, String)
    /// The page once more, with what was wrong or what would be.
    case page(Page)
    /// JSON to be kept, under a name.
    case file(String, String)
}
