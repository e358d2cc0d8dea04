import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Limiting
import Logins
import Providers

/// Use of a provider's dialog on the account page: to log in, to link an identity, or to reauthenticate.
extension AccountPages {
    func mountProviders(on pages: PageRoutes.Mount) {
        // A link opens the dialog, not a form: the policy of a page with a form would have to name every redirect
        // target of the dialog. The request changes nothing in the service.
        open(.get, "/providers/{provider}/start", .startAccountDialog, on: pages, counting: .login) {
            (asked) throws(Failure) in
            try await startDialog(asked)
        }
        open(.get, "/providers/{provider}/authorize", .endAccountDialog, on: pages, counting: .login) {
            (asked) throws(Failure) in
            try await closeDialog(asked)
        }
        open(.post, "/providers/{provider}", .finishAccountDialog, on: pages, counting: .login) {
            (asked) throws(Failure) in
            try await takeLogin(asked)
        }
    }

    /// Returns those providers of an application that have a login dialog.
    func dialogs(of loaded: LoadedApplication) -> [any DialogOffering] {
        loaded.configuredProviders.compactMap { try? loaded.provider($0.name, as: (any DialogOffering).self) }
            .filter(\.offersDialog)
    }

    private func startDialog(_ asked: AccountRequest) async throws(Failure) -> Response {
        let provider = try asked.provider
        var request = DialogRequest()
        request.accountPage = asked.url
        // The second factor is asked for later, when the form sends the login code.
        request.isForLinking = true
        let ticket = try await dialog.openDialog(request, of: provider, for: asked.loaded) {
            DialogAddresses(start: { $0 }, redirectURI: "\(asked.url)/providers/\(provider)/authorize")
        }
        let started = try await dialog.startDialog(
            ticket,
            of: provider,
            in: asked.dialogBrowser,
            for: asked.loaded
        )
        var response = Response.seeOther(started.address)
        response.headers[.setCookie] = asked.dialogCookie.header(started.browser, seconds: StartedDialog.seconds)
        return response
    }

    /// Returns the page after a provider's dialog, with a form that contains the login code.
    ///
    /// A page is needed because the session cookie has `SameSite=Strict`. The browser omits such a cookie when the
    /// provider redirects the browser, and sends the cookie with the form of this page.
    private func closeDialog(_ asked: AccountRequest) async throws(Failure) -> Response {
        let provider = try asked.provider
        let title: HTML = "\(asked.loaded.title(of: provider))"
        let browser = asked.dialogBrowser
        let outcome = try await dialog.closeDialog(
            DialogAnswer(asked.query),
            of: provider,
            from: browser,
            client: asked.client,
            in: asked.loaded,
            logger: asked.context.logger
        )
        guard case .redirect(let url, let result) = outcome, url.hasSameBytes(as: asked.url), let browser else {
            throw Self.notFromHere
        }
        switch result {
        case .success(let code):
            let fields: HTML = """
                \(asked.forms.hidden(for: browser))\(HTML.hidden("loginCode", code.reveal()))\
                \(HTML.submit(asked.words(.goOn)))
                """
            let body: HTML = """
                <p>\(asked.words(.backFromProvider, [.provider: title])) \(asked.words(.withinMinute))</p>
                \(asked.form(to: "/providers/\(provider)", fields))
                """
            return asked.response(.yourAccount, body)
        case .failure(let failure):
            let body: HTML = "<p>\(asked.words(.notFromProvider, [.provider: title]))</p>\n\(asked.back())"
            return asked.response(.yourAccount, body, problem: failure)
        }
    }

    /// Processes the form with the login code from a provider's dialog.
    ///
    /// If the browser has a session, the identity is linked to the session's user. Otherwise the user logs in.
    private func takeLogin(_ asked: AccountRequest) async throws(Failure) -> Response {
        let provider = try asked.provider
        let form = try await form(asked)
        guard let browser = asked.dialogBrowser else { throw Self.notFromHere }
        try asked.forms.check(form, of: asked.request, secret: browser)
        let request = LoginRequest(
            provider: provider,
            credential: CredentialFields(loginCode: try form.value("loginCode") ?? ""),
            mapping: nil,
            appID: nil,
            previousSession: asked.token?.key,
            client: asked.client
        )
        let (loaded, logger) = (asked.loaded, asked.context.logger)
        guard let visit = try await visit(asked) else {
            do throws(Failure) {
                let signedIn = try await loginFlow.login(request, to: loaded, logger: logger)
                return try await opened(signedIn.token, asked)
            } catch {
                return try await putOff(error, asked)
            }
        }
        do throws(Failure) {
            let linked = try await linking.link(request, toUserOf: visit.session, in: loaded, logger: logger)
            return .seeOther("\(asked.path)?done=\(linked.isNew ? "linked" : "proof")")
        } catch {
            // The link turns a guest into a user. This may require a second factor.
            guard error.reason == .reauthenticationRequired else { return try await putOff(error, asked) }
            return try await proofPage(of: .identity, for: nil, sentTo: "/proof", visit)
        }
    }

    private static let notFromHere = Failure(
        .loginStateInvalid,
        "This login has expired, is already complete, or was started in another browser. Open your account page and start again."
    )
}

extension AccountRequest {
    /// The provider that the path names.
    ///
    /// - Throws: `not_found`.
    fileprivate var provider: ProviderName {
        get throws(Failure) { try ProviderName(inPath: context.parameters.get("provider")) }
    }
}

extension Operation {
    fileprivate static let startAccountDialog = page(
        "startAccountDialog",
        "Sends a browser on to a provider's dialog.",
        parameters: [.provider],
        .dialogRedirect
    )

    fileprivate static let endAccountDialog = page(
        "endAccountDialog",
        "Where the provider sends the browser back: a page with the form that goes on.",
        parameters: [
            .provider, Parameter("state", in: .query, .string, "What the dialog was opened with."),
            Parameter("code", in: .query, .string, "The authorization code."),
        ],
        or: [.failurePage(422), .failurePage(504)]
    )

    fileprivate static let finishAccountDialog = page(
        "finishAccountDialog",
        "Logs in by the end of a dialog, or links the identity to who is logged in.",
        parameters: [.provider],
        form: .fields([
            "form": .string.described("As the page at the end of the dialog holds it."),
            "loginCode": .string,
        ]),
        or: [.accountRedirect, .failurePage(504)]
    )
}
