import Applications
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import Pages
import PublicAPI
import Secrets

/// The pages by which the SDK for the web logs in with a popup or a redirect (docs/protocols/firebase.md §11).
///
/// The first request to `handler` leads the browser to the provider's dialog. The dialog ends at the same page with a
/// login code. The page hands the code to the frame `iframe` in the client's page. The client then sends the code in a
/// call of `accounts:signInWithIdp`.
struct HandlerRoutes {
    let opening: DialogOpening
    let address: PublicAddress
    let random: RandomSource

    /// Mounts the pages.
    ///
    /// - Parameters:
    ///   - routes: The routes with a rate limit.
    ///   - unlimited: The routes without one. Each page of the application shows the frame when it loads.
    func mount(on routes: ApplicationRoutes, unlimited: ApplicationRoutes) {
        let refusals = routes.refusals
        routes.on(.get, "handler", nil) { request, context, loaded in
            await response(to: request, context, loaded, refusals) { (application) throws(Failure) in
                let query = LenientQuery(request.uri.query)
                return query["flow"] == nil
                    ? try await begin(query, request, context, application)
                    : try end(query, request, context, application)
            }
        }
        unlimited.on(.get, "iframe", nil) { request, context, loaded in
            await response(to: request, context, loaded, refusals) { (application) throws(Failure) in
                let key = Self.key(try context.clientKey, LenientQuery(request.uri.query)["appName"] ?? "")
                let origins = loaded.application.settings.allowedOrigins
                return WebPage(of: loaded.application, for: request.headers).relayFrame(of: key, in: origins)
            }
        }
    }

    /// Returns a response.
    ///
    /// A failure gets a page, too.
    private func response(
        to request: Request,
        _ context: APIContext,
        _ loaded: LoadedApplication,
        _ refusals: RefusalLog,
        _ make: (ServedApplication) async throws(Failure) -> Response
    ) async -> Response {
        do throws(Failure) { return try await make(try ServedApplication(loaded)) } catch {
            let errors = GoogleError()
            let error = refusals.logged(error, RefusalLog.Facts(application: loaded.application.id), in: context)
            // The name of the error is for the developer of the app, who can fix it.
            let name: HTML = error.nameOfGoogle.map { "<p><code>\($0)</code></p>" } ?? ""
            let page = WebPage(of: loaded.application, for: request.headers)
            return page.response(
                .login,
                "<p>\(page.words.failure(error))</p>\(name)",
                status: errors.status(of: error.reason)
            )
        }
    }

    /// The cookie of the browser, from which the `sessionId` of its logins is derived.
    private var cookie: BrowserCookie { .dialog(isSecure: address.isReachedByTLS) }

    private func begin(
        _ parameters: LenientQuery,
        _ request: Request,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        let query = try HandlerQuery(parameters, in: application)
        let key = try context.clientKey
        let (base, origin) = try place(of: request, key, application)
        let browser = cookie.value(in: request.headers).flatMap(OneTimeToken.init(received:)) ?? OneTimeToken(random)
        let flow = Base64URL.encode(random.bytes(16))
        let session = DialogSession(of: query.providerID, in: browser, flow: flow)
        let end = [(name: "apiKey", value: key)] + query.parameters + [("flow", flow)]
        var dialog = DialogRequest()
        dialog.relay = RelayPage(
            address: "\(origin)\(request.uri.path)?\(PercentEncoding.query(end))",
            origin: query.origin
        )
        dialog.codeChallenge = session.challenge
        dialog.isForLinking = query.isLink
        dialog.wishes = query.wishes
        let start = try await opening.open(dialog, of: query.provider, for: application.loaded) { () throws(Failure) in
            base
        }
        var response = Response.seeOther(start)
        response.headers[.setCookie] = cookie.header(browser.secret, seconds: StartedDialog.seconds)
        return response
    }

    /// Ends a login in the browser that began it, with a login code or an error.
    private func end(
        _ parameters: LenientQuery,
        _ request: Request,
        _ context: APIContext,
        _ application: ServedApplication
    ) throws(Failure) -> Response {
        let query = try HandlerQuery(parameters, in: application)
        let (_, origin) = try place(of: request, try context.clientKey, application)
        guard let flow = parameters["flow"],
            let browser = cookie.value(in: request.headers).flatMap(OneTimeToken.init(received:))
        else {
            throw Failure(
                .loginStateInvalid,
                "This login began in another browser, or took too long. Go back to the app and start again."
            )
        }
        let code = parameters["loginCode"].flatMap { $0.utf8.isEmpty ? nil : $0 }
        let session = code.map { _ in DialogSession(of: query.providerID, in: browser, flow: flow) }
        let answer = code.map { code in
            PercentEncoding.query([("providerId", query.providerID), ("code", code), ("state", flow)])
        }
        var event: JSONObject = [
            "type": .string(query.authType), "eventId": query.eventID.map(JSONValue.string) ?? .null,
            "sessionId": session.map { .string($0.id) } ?? .null,
            "urlResponse": answer.map { .string("\(origin)\(request.uri.path)?\($0)") } ?? .null,
            "postBody": .null, "tenantId": .null,
        ]
        if code == nil { event.append("error", Self.error(parameters["reason"])) }
        return WebPage(of: application.loaded.application, for: request.headers).relay(
            event,
            of: Self.key(try context.clientKey, query.appName),
            to: query.isPopup ? nil : query.redirectURL,
            succeeded: code != nil
        )
    }

    /// Returns the error of an event, by the reason with which the dialog ended.
    private static func error(_ reason: String?) -> JSONValue {
        let name =
            switch reason.flatMap(Failure.Reason.init) {
            case .loginCancelled: "user-cancelled"
            case .accountDisabled: "user-disabled"
            case .storeUnavailable, .overloaded, .providerUnavailable: "network-request-failed"
            default: "internal-error"
            }
        return .object(["code": .string("auth/" + name), "message": .string(reason ?? "unknown")])
    }

    /// Returns the base path of the dialog's pages, and the origin of the request.
    ///
    /// The cookie, the frame and the pages of the dialog must have one origin.
    ///
    /// - Throws: `INVALID_HOSTING_LINK_DOMAIN` unless the host is that of the public URL or one of the application's.
    private func place(
        of request: Request,
        _ key: String,
        _ application: ServedApplication
    ) throws(Failure) -> (base: PublicBase, origin: String) {
        let host = String(request.hostName ?? "")
        let names = application.loaded.application.settings.hostNames
        if names.contains(where: { $0.hasSameBytes(as: host) }), let origin = address.url(onHost: host) {
            return (.host(host), origin)
        }
        guard let origin = address.origin, address.host?.hasSameBytes(as: host) == true else {
            throw .google(
                "INVALID_HOSTING_LINK_DOMAIN",
                """
                The SDK opened this page on a host that is not the application's. Set the SDK's authDomain to the host \
                of FEDERATION_PUBLIC_URL, or to one of the setting hostNames.
                """
            )
        }
        return (.key(key), origin)
    }

    /// The name under which the client's page and its frame know each other.
    private static func key(_ apiKey: String, _ appName: String) -> String { "\(apiKey):\(appName)" }
}

extension APIContext {
    /// The API key of the request.
    ///
    /// Users see the key in addresses.
    ///
    /// - Throws: `PERMISSION_DENIED` for the key of a server.
    var clientKey: String {
        get throws(Failure) {
            guard let apiKey, !apiKey.isServer else {
                throw .google(
                    "PERMISSION_DENIED",
                    "This is the API key of a server, which no browser may see. Use the API key of a client."
                )
            }
            return apiKey.text.reveal()
        }
    }
}
