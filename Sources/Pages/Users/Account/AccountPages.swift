package import Accounts
package import Applications
import Description
import Domain
import Encodings
import Factors
package import HTTP
import Hummingbird
import Limiting
import Logins
import Messaging
import Providers

/// The account page at `/{applicationId}/account`, on which users see and change their account.
///
/// The page is for apps that have no such page of their own, and exists if the operator enables it for the application.
/// It can show and change no more than a client can, since it calls the same internal operations with a session. The
/// browser keeps the session token in a cookie. Each form on a page with a session has a CSRF token, which binds the
/// form to the session.
package struct AccountPages: Sendable {
    let links: AccountLinks
    let sessions: Sessions
    let loginFlow: LoginFlow
    let passwordLogins: PasswordLogins
    let passwordReset: PasswordReset
    let secondFactor: SecondFactor
    let ownFactors: OwnFactors
    let dialog: LoginDialog
    let linking: Linking
    let reauthentication: Reauthentication
    let accountUpdate: AccountUpdate
    let deletions: AccountDeletions
    let collection: UserCollection
    let roles: Roles
    let address: PublicAddress
    let rateLimiter: RateLimiter
    private let routes: PageRoutes

    package init(
        _ useCases: UseCases,
        directory: ApplicationDirectory,
        refusals: RefusalLog,
        errors: any ErrorTable
    ) {
        links = useCases.accountLinks
        sessions = useCases.sessions
        loginFlow = useCases.loginFlow
        passwordLogins = useCases.passwordLogins
        passwordReset = useCases.passwordReset
        secondFactor = useCases.secondFactor
        ownFactors = useCases.ownFactors
        dialog = useCases.dialog
        linking = useCases.linking
        reauthentication = useCases.reauthentication
        accountUpdate = useCases.accountUpdate
        deletions = useCases.accountDeletions
        collection = useCases.collection
        roles = useCases.roles
        address = useCases.address
        rateLimiter = useCases.rateLimiter
        routes = PageRoutes(directory: directory, refusals: refusals, errors: errors)
    }

    /// The maximum size of a form in bytes.
    ///
    /// The largest form contains a pending login with the user's profile from the provider.
    private static let formLimit = 1_048_576

    /// Mounts the routes of the account page.
    ///
    /// `segments` are the possible first segments of their paths: a parameter for the application's id, or a fixed text
    /// that may be an application's id.
    package func mount(on routes: DescribedRouter, below segments: [String]) {
        let pages = PageRoutes.Mount(routes: routes, segments: segments)
        mountLogin(on: pages)
        mountProviders(on: pages)
        mountAccount(on: pages)
        mountChanges(on: pages)
    }

    typealias Show = @Sendable (AccountRequest) async throws(Failure) -> Response
    typealias Visiting = @Sendable (AccountVisit) async throws(Failure) -> Response
    typealias Taking = @Sendable (AccountVisit, FormFields) async throws(Failure) -> Response

    /// Mounts a route of the account page that does not require a session by itself.
    func open(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ description: Operation,
        on pages: PageRoutes.Mount,
        counting operation: LimitedOperation,
        _ show: @escaping Show
    ) {
        let failures: [Reply] = [.failurePage(403), .failurePage(404), .accountLater(429), .accountLater(503)]
        routes.on(method, "account\(path)", description.or(failures), on: pages) {
            (request, context, loaded, page) throws(Failure) in
            let url = try links.page(of: loaded)
            try rateLimiter.take(operation, of: loaded.application.id, from: context.peer.limitedSource)
            return try await show(
                AccountRequest(request, context, loaded, page, url: url, address: address, errors: routes.errors)
            )
        }
    }

    /// Mounts a page that needs a session.
    ///
    /// For a request without a session, the response redirects to the first view of the account page.
    func page(_ path: String, _ description: Operation, on pages: PageRoutes.Mount, _ show: @escaping Visiting) {
        open(.get, path, description.or([.accountRedirect]), on: pages, counting: .query) { (asked) throws(Failure) in
            guard let visit = try await visit(asked) else { return .seeOther(asked.path) }
            return try await show(visit)
        }
    }

    /// Mounts the route to which a form of the account page is sent.
    ///
    /// If the action requires it, the user must first reauthenticate.
    func action(
        _ path: String,
        _ description: Operation,
        on pages: PageRoutes.Mount,
        counting operation: LimitedOperation = .query,
        _ act: @escaping Taking
    ) {
        open(.post, path, description.or([.accountRedirect]), on: pages, counting: operation) {
            (asked) throws(Failure) in
            let form = try await asked.request.formBody(upTo: Self.formLimit)
            guard let visit = try await visit(asked) else { return .seeOther(asked.path) }
            try asked.forms.check(form, of: asked.request, secret: visit.token.secret.reveal())
            return try await showing(form, sentTo: path, visit) { () throws(Failure) in
                try await act(visit, form)
            }
        }
    }

    /// Reads the form of a request without a session, and checks its origin.
    func form(_ asked: AccountRequest) async throws(Failure) -> FormFields {
        try asked.forms.checkOrigin(of: asked.request)
        return try await asked.request.formBody(upTo: Self.formLimit)
    }

    /// Returns the request together with its session and user; nil if it has no valid session.
    func visit(_ asked: AccountRequest) async throws(Failure) -> AccountVisit? {
        guard let token = asked.token else { return nil }
        do throws(Failure) {
            let user = try await sessions.user(of: token.key, in: asked.loaded)
            return AccountVisit(asked: asked, token: token, user: user)
        } catch {
            guard error.reason == .sessionInvalid else { throw error }
            return nil
        }
    }

    /// Logs a failure that a page shows.
    ///
    /// - Returns: The failure, marked as logged.
    func logged(_ failure: Failure, _ asked: AccountRequest) -> Failure {
        routes.refusals.logged(failure, .init(application: asked.loaded.application.id), in: asked.context)
    }
}

/// A request for the account page of an application.
struct AccountRequest: Sendable {
    let request: Request
    let context: APIContext
    let loaded: LoadedApplication
    let page: WebPage
    /// The URL of the account page, as browsers reach it.
    let url: String
    /// The path of the account page, as browsers reach it.
    let path: String
    /// The cookie with the session token.
    let cookie: BrowserCookie
    /// The cookie by which the service recognizes a browser that returns from a provider's login dialog.
    let dialogCookie: BrowserCookie
    let forms: FormGuard
    /// The session token that the browser sent in the cookie; nil if it sent none.
    let token: SessionToken?
    private let errors: any ErrorTable

    init(
        _ request: Request,
        _ context: APIContext,
        _ loaded: LoadedApplication,
        _ page: WebPage,
        url: String,
        address: PublicAddress,
        errors: any ErrorTable
    ) {
        self.request = request
        self.context = context
        self.loaded = loaded
        self.page = page
        self.url = url
        self.errors = errors
        let isSecure = address.isReachedByTLS
        let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        path = String(url[start...].drop { $0 != "/" })
        // The name contains the application's id, since several applications may have the same host.
        let name = "federation-account-\(loaded.application.id)"
        cookie = BrowserCookie(name, isSecure: isSecure, sameSite: .strict)
        dialogCookie = .dialog(isSecure: isSecure)
        forms = FormGuard(of: name, at: address.origin)
        token = cookie.value(in: request.headers).flatMap { SessionToken(received: $0) }
    }

    var words: PageWords { page.words }
    var query: LenientQuery { LenientQuery(request.uri.query) }
    var source: RequestSource { RequestSource(name: context.peer.network.name) }
    /// The account page as the client of a login; it has no API key and no trusted device.
    var client: LoginClient { LoginClient(keyLabel: nil, trustedDevice: nil) }
    /// The value of the dialog cookie that the browser sent; nil if it sent none.
    var dialogBrowser: String? { dialogCookie.value(in: request.headers) }

    /// Returns a response with a page.
    ///
    /// If `problem` is not nil, the page shows this failure, and the response has its HTTP status.
    func response(
        _ title: PageText,
        _ body: HTML,
        problem: Failure? = nil,
        runsPasskeys: Bool = false
    ) -> Response {
        page.question(
            title,
            body,
            problem: problem,
            by: errors,
            script: runsPasskeys ? .passkey : nil,
            headers: .ofSessions
        )
    }

    /// Returns an HTML form for a page without a session.
    func form(to path: String, _ fields: HTML) -> HTML {
        """
        <form method="post" action="\(self.path + path)">
        \(fields)</form>

        """
    }

    /// Returns a link that looks like a button, to a path below the account page.
    func button(to path: String, _ text: HTML) -> HTML { "<p>\(HTML.button(text, to: self.path + path))</p>\n" }

    /// Returns a button that leads to the first view of the account page.
    func back(_ text: PageText = .toAccount) -> HTML { button(to: "", words(text)) }

    /// Returns, for each provider, a button that opens the provider's dialog.
    ///
    /// The text of the button names the provider.
    func buttons(to providers: [any DialogOffering], _ text: PageText) -> HTML {
        providers.map { provider in
            button(to: "/providers/\(provider.name)/start", words(text, [.provider: "\(provider.title)"]))
        }.joined()
    }
}

/// A request of a logged-in user.
struct AccountVisit: Sendable {
    let asked: AccountRequest
    let token: SessionToken
    let user: User

    var session: SessionKey { token.key }
    var loaded: LoadedApplication { asked.loaded }
    var words: PageWords { asked.words }

    /// Returns an HTML form with the CSRF token of this session.
    func form(to path: String, _ fields: HTML) -> HTML {
        asked.form(to: path, "\(asked.forms.hidden(for: token.secret.reveal()))\(fields)")
    }
}

extension Operation {
    /// Returns the OpenAPI description of a form's route that may first ask the user to reauthenticate.
    static func action(
        _ id: String,
        _ summary: String,
        form: Schema = .anyObject
    ) -> Operation {
        let proof = Schema.string.described("The password, where the page has asked for it.")
        let fields = form.adding(optional: ["form": .sessionForm, "proof": proof])
        return page(id, summary, form: fields.adding(optional: PendingFactor.fields))
    }
}

extension Schema {
    static let sessionForm = string.described("As the page holds it: it shows that the form is of this session.")
}

extension Reply {
    static let accountRedirect = Reply(
        303,
        as: "AccountRedirect",
        """
        The browser goes on to a page of the account; it keeps a cookie with the session of the page, or forgets it, \
        where that has changed.
        """,
        headers: [
            .requestID, .location,
            ReplyHeader(
                "Set-Cookie",
                as: "SessionCookie",
                .string,
                "The cookie, where it has changed.",
                isRequired: false
            ),
        ]
    )

    fileprivate static func accountLater(_ status: Int) -> Reply {
        Reply(
            status,
            as: "AccountLater",
            "The same of what can be tried again after a while.",
            headers: [.requestID, .retryAfter],
            [.html]
        )
    }
}
