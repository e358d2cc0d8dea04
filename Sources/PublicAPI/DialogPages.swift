package import Accounts
import Applications
import Description
package import Domain
import Encodings
package import HTTP
import HTTPTypes
import Hummingbird
package import Logins
import Pages
import Providers

/// The pages of a login in a provider's dialog.
///
/// The service, and not the app, sends the browser to the dialog: the first page redirects there. The dialog later
/// redirects the browser back to the second page. The third asks for a second factor. The client gets the result in the
/// protocol in which it requested the dialog.
package struct DialogPages {
    private let dialog: LoginDialog
    private let factors: DialogFactors
    private let address: PublicAddress
    private let errors: any ErrorTable
    private let code: @Sendable (Failure.Reason) -> String
    private let user: @Sendable (LoginResult) -> [UInt8]

    /// Creates the pages.
    ///
    /// - Parameters:
    ///   - useCases: The operations that the pages call.
    ///   - errors: Maps failures to errors, for the pages and for the page that opened a popup.
    ///   - code: Returns the value of the parameter `error` in a redirect to the client's URL.
    ///   - user: Returns the user object after a login, for the page that opened a popup.
    package init(
        _ useCases: UseCases,
        errors: any ErrorTable,
        code: @escaping @Sendable (Failure.Reason) -> String,
        user: @escaping @Sendable (LoginResult) -> [UInt8]
    ) {
        (dialog, factors, address) = (useCases.dialog, useCases.dialogFactors, useCases.address)
        (self.errors, self.code, self.user) = (errors, code, user)
    }

    /// Mounts the pages.
    ///
    /// - Parameters:
    ///   - routes: The routes of applications.
    ///   - further: Further paths to which providers redirect browsers after the dialog. Operators have registered
    ///     these paths at the providers. Each path has a `name`, the prefix for the ids of its OpenAPI operations.
    package func mount(on routes: ApplicationRoutes, andReturnsTo further: [(path: String, name: String)]) {
        let refusals = routes.refusals
        routes.on(.get, "users/oauth/:provider/start", .startDialog) { request, context, application in
            await start(request, context, application, refusals)
        }
        routes.on(.post, "users/oauth/:provider/credential", .postCredential) { request, context, application in
            try await takeCredential(request, context, application)
        }
        let returns = further.map { path, name in
            (
                path,
                Operation.authorize.again("\(name)Authorize", "The same, at a path of older clients."),
                Operation.authorizeByForm.again("\(name)AuthorizeByForm", "The same, at a path of older clients."),
                Operation.answerDialogFactor.again(
                    "\(name)AnswerDialogFactor",
                    "The same, next to the path of older clients."
                )
            )
        }
        let usual = (
            "users/oauth/:provider", Operation.authorize, Operation.authorizeByForm, Operation.answerDialogFactor
        )
        for (path, authorize, authorizeByForm, answer) in [usual] + returns {
            routes.on(.get, path + "/authorize", authorize) { request, context, application in
                await close(request, context, application)
            }
            routes.on(.post, path + "/authorize", authorizeByForm) { request, _, _ in
                try await Self.redirect(request.formBody(upTo: Self.answerLimit))
            }
            routes.on(.post, "\(path)/\(FactorPage.path)", answer) { request, context, application in
                await takeFactor(request, context, application)
            }
        }
    }

    /// Redirects a browser to the provider's dialog.
    ///
    /// A user sees every response of this method and of `close`. So a failure is also a page.
    private func start(
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication,
        _ refusals: RefusalLog
    ) async -> Response {
        let cookie = BrowserCookie.dialog(isSecure: address.isReachedByTLS)
        do throws(Failure) {
            let started = try await dialog.startDialog(
                LenientQuery(request.uri.query)["dialog"] ?? "",
                of: context.provider(),
                in: cookie.value(in: request.headers),
                for: application
            )
            var response = Response.seeOther(started.address)
            response.headers[.setCookie] = cookie.header(started.browser, seconds: StartedDialog.seconds)
            return response
        } catch {
            let facts = RefusalLog.Facts(application: application.application.id)
            let page = WebPage(of: application.application, for: request.headers)
            return page.failure(refusals.logged(error, facts, in: context), .login, by: errors)
        }
    }

    /// The maximum size, in bytes, of the form with which a dialog answers.
    private static let answerLimit = 16_384

    /// Redirects a browser that brings the dialog's answer as a form to the address with the same answer as a query.
    ///
    /// The form comes from the provider's page, so the browser does not send our cookie with it. With the redirect the
    /// browser does (RFC 6265bis §8.8.3 allows it for a `GET` of a whole page).
    private static func redirect(_ form: FormFields) throws(Failure) -> Response {
        var parameters: [(name: String, value: String)] = []
        for name in ["state", "code", "iss", "error"] {
            if let value = try form.value(name) { parameters.append((name, value)) }
        }
        if let user = try form.value("user").flatMap(Self.nameOnly) { parameters.append(("user", user)) }
        return .seeOther(adding(parameters, to: "authorize"))
    }

    /// Returns the member `name` of a JSON text, as such a text again.
    ///
    /// The e-mail address beside it counts for nothing, and logs may keep the query.
    private static func nameOnly(_ user: String) -> String? {
        guard let name = (try? JSONParser.parse(user, limits: .request))?.object?["name"] else { return nil }
        return JSONValue.object(["name": name]).text
    }

    /// Logs in by the form of Google's One Tap, which Google's script posts to the page's own host.
    ///
    /// The form is of a page of this host only if the cookie that the script has set has the same token.
    private func takeCredential(
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws(Failure) -> Response {
        let form = try await request.formBody(upTo: Self.answerLimit)
        let cookie = BrowserCookie.oneTap.value(in: request.headers)
        guard let token = try form.value("g_csrf_token"), !token.isEmpty, let cookie, token.hasSameBytes(as: cookie)
        else {
            throw Failure(
                .malformedRequest,
                "g_csrf_token is not that of the cookie. The page must be on the host of this service."
            )
        }
        guard let credential = try form.value("credential"), !credential.isEmpty else {
            throw Failure(.credentialMissing, "The form has no credential.")
        }
        return await respond(context, request, application) { (_) throws(Failure) in
            try await dialog.takeCredential(
                credential,
                of: context.provider(),
                client: context.client(trustedDevice: nil),
                in: application,
                logger: context.logger
            )
        }
    }

    private func close(
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async -> Response {
        await respond(context, request, application) { (browser) throws(Failure) in
            try await dialog.closeDialog(
                DialogAnswer(LenientQuery(request.uri.query)),
                of: context.provider(),
                from: browser,
                client: context.client(trustedDevice: nil),
                in: application,
                logger: context.logger
            )
        }
    }

    /// Handles the form of the page that asks for a second factor.
    private func takeFactor(
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async -> Response {
        await respond(context, request, application) { (browser) throws(Failure) in
            let form = try await request.formBody(upTo: FactorPage.formLimit)
            return try await factors.take(
                FactorPage.answer(form),
                of: try form.value("login") ?? "",
                at: context.provider(),
                from: browser,
                client: context.client(trustedDevice: nil),
                source: context.source,
                in: application,
                logger: context.logger
            )
        }
    }

    private func respond(
        _ context: APIContext,
        _ request: Request,
        _ application: LoadedApplication,
        _ end: (_ browser: String?) async throws(Failure) -> DialogOutcome
    ) async -> Response {
        let cookie = BrowserCookie.dialog(isSecure: address.isReachedByTLS)
        let browser = cookie.value(in: request.headers)
        let page = WebPage(of: application.application, for: request.headers)
        let outcome: DialogOutcome
        do throws(Failure) {
            outcome = try await end(browser)
        } catch {
            return page.failure(error, .login, by: errors)
        }
        switch outcome {
        case .redirect(let url, .success(let code)):
            return .seeOther(Self.adding([("loginCode", code.reveal())], to: url))
        case .redirect(let url, .failure(let failure)):
            let parameters = [("error", code(failure.reason)), ("reason", failure.reason.rawValue)]
            return .seeOther(Self.adding(parameters, to: url))
        case .popup(let origin, .success(let signedIn)):
            return page.handOver(user(signedIn), to: origin, succeeded: true)
        case .popup(let origin, .failure(let failure)):
            var writer = JSONWriter()
            writer.object { writer in
                writer.key("fault")
                errors.write(failure, requestID: context.requestID, into: &writer)
            }
            return page.handOver(writer.bytes, to: origin, succeeded: false)
        case .question(let question):
            var response = FactorPage(question, page, by: errors).response(handingOver: user)
            if let browser, let seconds = question.browserSeconds {
                response.headers[.setCookie] = cookie.header(Secret(browser), seconds: seconds)
            }
            return response
        }
    }

    /// Returns a URL with parameters appended to its query.
    ///
    /// The URL must have no fragment. The URLs that operators configure have none.
    static func adding(_ parameters: [(name: String, value: String)], to url: String) -> String {
        var url = url
        for (name, value) in parameters {
            let separator =
                !url.utf8.contains(UInt8(ascii: "?")) ? "?" : url.hasSuffix("?") || url.hasSuffix("&") ? "" : "&"
            url += separator + name + "=" + PercentEncoding.encode(value)
        }
        return url
    }
}

extension Operation {
    fileprivate static let startDialog = Operation(
        "startDialog",
        under: "login",
        "Redirects a browser to Facebook's login dialog and sets the cookie that the login needs.",
        more: """
            The complete address comes from request_url. An existing cookie keeps its value. Other query parameters \
            are ignored.
            """,
        parameters: [.ticket],
        .dialogRedirect,
        or: [.loginPage(400), .loginPage(404), .loginPage(500), .loginPageLater(503)]
    )

    fileprivate static let authorize = Operation(
        "authorize",
        under: "login",
        "The redirect URI of Facebook's login dialog.",
        more: """
            Ends the login: with a redirect to the return URL with loginCode, or with error and reason; or with a page \
            that posts the user object, or an object with fault, to the page that opened it. A login without a \
            codeChallenge must end in the browser with its cookie. Another browser gets an error page, and the login \
            stays valid. Other query parameters are ignored.
            """,
        parameters: [
            .dialogState, .dialogCode, .dialogError, .dialogErrorReason, .dialogErrorCode, .dialogErrorMessage,
            .deniedScopes,
        ],
        .popupPage,
        or: [.redirect, .loginPage(400), .loginPage(404), .loginPage(500), .loginPageLater(503)]
    )

    fileprivate static let authorizeByForm = Operation(
        "authorizeByForm",
        under: "login",
        "The same for a dialog that answers by a form, such as Apple's.",
        more: "Redirects the browser to the address with the members as parameters, for authorize.",
        body: Content(
            .anyObject.adding(optional: [
                "state": .string, "code": .string, "iss": .string, "error": .string,
                "user": .string.described("Apple's JSON text with the user's name, in the first form alone."),
            ]),
            as: "application/x-www-form-urlencoded"
        ),
        .redirect
    )

    fileprivate static let postCredential = Operation(
        "postCredential",
        under: "login",
        "Logs in by the form of Google's One Tap.",
        more: """
            For data-login_uri of a page on a host of this service. The login ends as one by the dialog, at the first of \
            the returnUrls. A user who needs a second factor gets an error, and must log in by the dialog.
            """,
        body: Content(
            .anyObject.adding([
                "credential": .string.described("The ID token."),
                "g_csrf_token": .string.described("The same as in the cookie of that name."),
            ]),
            as: "application/x-www-form-urlencoded"
        ),
        .redirect,
        or: [.badRequest, .loginPage(404), .loginPage(500), .loginPageLater(503)]
    )

    fileprivate static let answerDialogFactor = Operation(
        "answerDialogFactor",
        under: "login",
        "Accepts the second factor from the page at the end of a dialog.",
        more: """
            The request of the page that asks for a second factor at the end of a dialog. Clients do not send it. The \
            response is the next page, or the end of the login as for authorize.
            """,
        body: Content(
            .anyObject.adding(
                ["login": .string.described("The pending login, encrypted, from the page.")],
                optional: [
                    "factor": .string,
                    "code": .string,
                    "credential": .string,
                    "choose": .string,
                    "send": .string,
                    "kind": .string,
                    "target": .string,
                    "kinds": .string,
                    "draft": .string,
                    "goOn": .string,
                ]
            ),
            as: "application/x-www-form-urlencoded"
        ),
        .popupPage,
        or: [
            .redirect, .loginPage(400), .loginPage(401), .loginPage(404), .loginPage(413), .loginPage(415),
            .loginPageLater(429), .loginPage(500), .loginPageLater(503),
        ]
    )
}

extension Parameter {
    fileprivate static let ticket = Parameter(
        "dialog",
        in: .query,
        .string,
        "The state from request_url, valid for ten minutes."
    )

    fileprivate static let dialogState = Parameter(
        "state",
        in: .query,
        .string,
        "The state with which the dialog was opened. Single-use, valid for ten minutes."
    )

    fileprivate static let dialogCode = Parameter("code", in: .query, .string, "The authorization code.")

    fileprivate static let dialogError = Parameter(
        "error",
        in: .query,
        as: "DialogError",
        .string,
        "`access_denied` if the user cancelled."
    )

    fileprivate static let dialogErrorReason = Parameter(
        "error_reason",
        in: .query,
        as: "DialogErrorReason",
        .string,
        "`user_denied` if the user cancelled."
    )

    fileprivate static let dialogErrorCode = Parameter(
        "error_code",
        in: .query,
        as: "DialogErrorCode",
        .string,
        "The number of an error of the app or of Facebook."
    )

    fileprivate static let dialogErrorMessage = Parameter(
        "error_message",
        in: .query,
        as: "DialogErrorMessage",
        .string,
        "Its text, which is not shown."
    )

    fileprivate static let deniedScopes = Parameter(
        "denied_scopes",
        in: .query,
        as: "DeniedScopes",
        .string,
        "The permissions that the user declined, separated by commas."
    )
}

extension Reply {
    fileprivate static let popupPage = Reply(
        200,
        as: "PopupPage",
        """
        A page that posts the user object, or `{"fault": …}`, as JSON text to the page that opened it, and closes. The \
        user object has `user-token`, and for the headers of a login the members `user-created` (boolean) and \
        `missing-permissions` (list of names).
        """,
        headers: [.requestID],
        [.html]
    )

    fileprivate static func loginPage(_ status: Int) -> Reply {
        Reply(
            status,
            as: "LoginPage",
            "An error page for the user: login_state_invalid or internal.",
            headers: [.requestID],
            [.html]
        )
    }

    fileprivate static func loginPageLater(_ status: Int) -> Reply {
        Reply(
            status,
            as: "LoginPageLater",
            "The same for store_unavailable and overloaded. The address can be opened again.",
            headers: [.requestID, .retryAfter],
            [.html]
        )
    }
}
