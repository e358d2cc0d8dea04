import Accounts
import Applications
import Factors
import Federation
import HTTP
import HTTPTypes
import Hummingbird
import Limiting
import Logins
import Notifications
import Providers
import Vocabulary

/// The account page, at `/{applicationId}/account`: for apps that want none of their own, where the application has it.
///
/// Whatever it shows and changes is a use case that clients call, too, by a session of the user that the browser keeps.
/// A form of a page holds what shows that it is of this session.
struct AccountPages {
    let links: AccountLinks
    let sessions: Sessions
    let signIn: SignIn
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
    let directory: ApplicationDirectory
    let rateLimiter: RateLimiter
    let refusals: RefusalLog
    let errors: any ErrorTable

    init(
        _ federation: Federation,
        directory: ApplicationDirectory,
        refusals: RefusalLog,
        errors: any ErrorTable
    ) {
        links = federation.accountLinks
        sessions = federation.sessions
        signIn = federation.signIn
        passwordLogins = federation.passwordLogins
        passwordReset = federation.passwordReset
        secondFactor = federation.secondFactor
        ownFactors = federation.ownFactors
        dialog = federation.dialog
        linking = federation.linking
        reauthentication = federation.reauthentication
        accountUpdate = federation.accountUpdate
        deletions = federation.accountDeletions
        collection = federation.collection
        roles = federation.roles
        address = federation.address
        rateLimiter = federation.rateLimiter
        self.directory = directory
        self.refusals = refusals
        self.errors = errors
    }

    /// Bytes of the largest form: a login that waits for a factor holds what a provider has said of a person.
    private static let formLimit = 1_048_576

    /// Mounts the routes below each of the first segments.
    func mount(on router: Router<APIContext>, below segments: [String]) {
        for first in segments {
            let pages = Mount(router: router, first: first)
            mountSignIn(on: pages)
            mountProviders(on: pages)
            mountAccount(on: pages)
            mountChanges(on: pages)
        }
    }

    /// Where the pages of applications are mounted.
    struct Mount {
        let router: Router<APIContext>
        let first: String

        fileprivate func path(_ page: String) -> RouterPath { RouterPath("/\(first)/account\(page)") }
    }

    typealias Show = @Sendable (AccountRequest) async throws(Failure) -> Response
    typealias Visiting = @Sendable (AccountVisit) async throws(Failure) -> Response
    typealias Taking = @Sendable (AccountVisit, FormFields) async throws(Failure) -> Response

    /// A page for everybody.
    func open(
        _ method: HTTPRequest.Method,
        _ path: String,
        on pages: Mount,
        counting operation: LimitedOperation,
        _ show: @escaping Show
    ) {
        pages.router.on(pages.path(path), method: method) { [first = pages.first] request, context in
            let id = context.parameters["applicationId"] ?? first[...]
            return await respond(to: request, id, context, counting: operation, show)
        }
    }

    /// A page for who is logged in.
    func page(_ path: String, on pages: Mount, _ show: @escaping Visiting) {
        open(.get, path, on: pages, counting: .query) { (asked) throws(Failure) in
            guard let visit = try await visit(asked) else { return .seeOther(asked.path) }
            return try await show(visit)
        }
    }

    /// What a form of a page does, once its person has shown what they have to.
    func action(
        _ path: String,
        on pages: Mount,
        counting operation: LimitedOperation = .query,
        _ act: @escaping Taking
    ) {
        open(.post, path, on: pages, counting: operation) { (asked) throws(Failure) in
            let form = try await asked.request.formBody(upTo: Self.formLimit)
            guard let visit = try await visit(asked) else { return .seeOther(asked.path) }
            try asked.forms.check(form, of: asked.request, secret: visit.token.secret.reveal())
            return try await showing(form, sentTo: path, visit) { () throws(Failure) in
                try await act(visit, form)
            }
        }
    }

    /// The form of a request that no session stands behind, from a page of ours.
    func form(_ asked: AccountRequest) async throws(Failure) -> FormFields {
        try asked.forms.checkOrigin(of: asked.request)
        return try await asked.request.formBody(upTo: Self.formLimit)
    }

    /// Who is logged in; nil for nobody.
    func visit(_ asked: AccountRequest) async throws(Failure) -> AccountVisit? {
        guard let token = asked.token else { return nil }
        do throws(Failure) {
            return AccountVisit(asked: asked, token: token, user: try await sessions.user(of: token, in: asked.loaded))
        } catch {
            guard error.reason == .sessionInvalid else { throw error }
            return nil
        }
    }

    /// A person looks at whatever comes of it, so failures are pages.
    private func respond(
        to request: Request,
        _ id: Substring,
        _ context: APIContext,
        counting operation: LimitedOperation,
        _ show: Show
    ) async -> Response {
        var facts = RefusalLog.Facts()
        var page = WebPage(of: nil, for: request.headers)
        do throws(Failure) {
            let loaded = try directory.application(id: id)
            facts.application = loaded.application.id
            page = WebPage(of: loaded.application, for: request.headers)
            let asked = AccountRequest(
                request: request,
                context: context,
                loaded: loaded,
                page: page,
                url: try links.page(of: loaded),
                address: address
            )
            try rateLimiter.take(operation, of: loaded.application.id, from: context.peer.limitedSource)
            return try await show(asked)
        } catch {
            return page.failure(refusals.logged(error, facts, in: context), .failed, by: errors)
        }
    }
}

/// A request for a page of one application's accounts.
struct AccountRequest: Sendable {
    let request: Request
    let context: APIContext
    let loaded: LoadedApplication
    let page: WebPage
    /// The address of the account page, as browsers reach it.
    let url: String
    /// Its path.
    let path: String
    /// What the browser keeps: the token of the session.
    let cookie: BrowserCookie
    /// What the browser keeps while it is at a provider.
    let dialogCookie: BrowserCookie
    let forms: FormGuard
    /// As the browser sent it.
    let token: SessionToken?

    init(
        request: Request,
        context: APIContext,
        loaded: LoadedApplication,
        page: WebPage,
        url: String,
        address: PublicAddress
    ) {
        self.request = request
        self.context = context
        self.loaded = loaded
        self.page = page
        self.url = url
        let isSecure = address.isReachedByTLS
        let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        path = String(url[start...].drop { $0 != "/" })
        // One for each application: they may share the host.
        let name = "federation-account-\(loaded.application.id)"
        cookie = BrowserCookie(name, isSecure: isSecure, sameSite: .strict)
        dialogCookie = .dialog(isSecure: isSecure)
        forms = FormGuard(of: name, at: address.origin)
        token = cookie.value(in: request.headers).flatMap { SessionToken(received: $0) }
    }

    var language: PageLanguage { page.language }
    /// The application's name.
    var name: String { loaded.application.name }
    var query: LenientQuery { LenientQuery(request.uri.query) }
    var source: RequestSource { RequestSource(name: context.peer.network.name) }
    /// Pages come by no API key.
    var client: LoginClient { LoginClient(keyLabel: nil, trustedDevice: nil) }

    /// A page; with a failure it says what was wrong, and has the status of that.
    func response(
        _ title: AccountText,
        _ body: HTML,
        problem: Failure? = nil,
        by errors: any ErrorTable,
        runsPasskeys: Bool = false
    ) -> Response {
        var headers: HTTPFields = [.openerPolicy: "same-origin", .resourcePolicy: "same-origin"]
        // With none at all, browsers would not say of a form where it comes from.
        headers[.referrerPolicy] = "same-origin"
        headers[.retryAfter] = problem.flatMap { errors.retryAfter($0) }
        return page.response(
            .account(title),
            FactorFields(in: language).problem(problem) + body,
            script: runsPasskeys ? FactorFields.passkeyDigest : nil,
            status: problem.map { errors.status(of: $0.reason) } ?? .ok,
            headers: headers,
            sendsForms: true
        )
    }

    /// A form of a page that nobody is logged in to.
    func form(to path: String, _ fields: HTML) -> HTML {
        """
        <form method="post" action="\(self.path + path)">
        \(fields)</form>

        """
    }

    /// A link that looks like a button.
    func button(to path: String, _ text: AccountText) -> HTML {
        "<p><a class=\"button\" href=\"\(self.path + path)\">\(language(text))</a></p>\n"
    }
}

/// A request of somebody who is logged in.
struct AccountVisit: Sendable {
    let asked: AccountRequest
    let token: SessionToken
    let user: User

    var loaded: LoadedApplication { asked.loaded }
    var language: PageLanguage { asked.language }

    /// A form of a page of this session.
    func form(to path: String, _ fields: HTML) -> HTML {
        let token = asked.forms.token(of: token.secret.reveal())
        return asked.form(to: path, HTML.hidden(FormGuard.field, token) + fields)
    }
}
