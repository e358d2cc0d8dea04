import Applications
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import Providers
import Vocabulary

/// Login through the server: where a client gets the address that a browser opens, the page that leads from there to
/// the provider's dialog, and where the dialog sends the browser back.
struct DialogRoutes {
    let dialog: LoginDialog
    let factors: DialogFactors
    let address: PublicAddress

    func mount(on routes: ApplicationRoutes) {
        for path in ["users/oauth/:provider/request_url", "users/social/oauth/:provider/request_url"] {
            routes.on(.post, path) { request, context, application in
                try await open(request, context, application)
            }
        }
        let refusals = routes.refusals
        routes.on(.get, "users/oauth/:provider/start") { request, context, application in
            await start(request, context, application, refusals)
        }
        for path in ["users/oauth/:provider/authorize", "users/social/:provider/authorize"] {
            routes.on(.get, path) { request, context, application in
                await close(request, context, application)
            }
        }
        for path in ["users/oauth/:provider/", "users/social/:provider/"] {
            routes.on(.post, path + FactorPage.path) { request, context, application in
                await takeFactor(request, context, application)
            }
        }
    }

    private func open(
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws(Failure) -> Response {
        let bytes = try await request.jsonBodyIfAny(upTo: Request.bodyLimit)
        let base = try context.base(of: request)
        let body = try DialogBody(bytes, origin: request.headers[.origin])
        let provider = try context.provider()
        let url = try await dialog.openDialog(body.dialog, of: provider, for: application) { () throws(Failure) in
            try addresses(of: provider, at: base, domain: body.callbackURLDomain, for: application)
        }
        if body.redirect { return .seeOther(url) }
        // Plain text: client SDKs take a JSON text with its quotes (docs/protocols/backendless.md §2.4).
        return .text(url)
    }

    /// The addresses for a dialog that was asked for by a base.
    ///
    /// A domain that the client names must be one that leads here by the configuration.
    private func addresses(
        of provider: ProviderName,
        at base: PublicBase,
        domain: String?,
        for loaded: LoadedApplication
    ) throws(Failure) -> DialogAddresses {
        var base = base
        if let domain {
            if let name = loaded.application.settings.hostNames.first(where: { $0.hasSameBytes(as: domain) }) {
                base = .host(name)
            } else {
                guard case .key = base, address.host?.hasSameBytes(as: domain) == true else {
                    throw Failure(
                        .malformedRequest,
                        """
                        callbackUrlDomain is not a host name of this application's. Leave it out, or ask the operator for the \
                        names in the setting hostNames.
                        """
                    )
                }
            }
        }
        guard let url = base.url(at: address, for: loaded) else {
            throw Failure(
                .providerNotConfigured,
                "The operator has not said where this service is reached from outside (FEDERATION_PUBLIC_URL)."
            )
        }
        let pages = "\(url)/users/oauth/\(provider)"
        return DialogAddresses(start: { "\(pages)/start?dialog=\($0)" }, redirectURI: "\(pages)/authorize")
    }

    /// A person looks at whatever comes of this and of `close`, so failures are pages.
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
            response.headers[.setCookie] = cookie.header(started.browser, seconds: started.seconds)
            return response
        } catch {
            let facts = RefusalLog.Facts(application: application.application.id)
            let page = WebPage(of: application.application, for: request.headers)
            return page.failure(refusals.logged(error, facts, in: context), .login, by: Problem())
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

    /// Takes what the page has sent that asks for a second factor.
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
            return page.failure(error, .login, by: Problem())
        }
        switch outcome {
        case .redirect(let url, .success(let code)):
            return .seeOther(Self.adding([("loginCode", code.reveal())], to: url))
        case .redirect(let url, .failure(let failure)):
            let code = String(Problem.row(of: failure.reason).code)
            return .seeOther(Self.adding([("error", code), ("reason", failure.reason.rawValue)], to: url))
        case .popup(let origin, .success(let signedIn)):
            return page.handOver(UserReply.writeWithHeaders(signedIn).bytes, to: origin, succeeded: true)
        case .popup(let origin, .failure(let failure)):
            var writer = JSONWriter()
            writer.object { writer in
                writer.key("fault")
                Problem().write(failure, requestID: context.requestID, into: &writer)
            }
            return page.handOver(writer.bytes, to: origin, succeeded: false)
        case .question(let question):
            var response = FactorPage(question, page).response()
            if let browser, let seconds = question.browserSeconds {
                response.headers[.setCookie] = cookie.header(Secret(browser), seconds: seconds)
            }
            return response
        }
    }

    /// The address with parameters behind those that it has; an address of the operator's has no fragment.
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

extension APIContext {
    /// The provider that the path names, in any case, as client SDKs write it.
    ///
    /// - Throws: `not_found` for what can be no provider's name.
    func provider() throws(Failure) -> ProviderName {
        try ProviderName(inPath: parameters.get("provider"))
    }
}
