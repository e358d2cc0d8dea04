import Applications
import HTTP
import HTTPTypes
import Hummingbird
import Limiting
import Logins
import Providers
import Vocabulary

/// Logins by a provider's dialog on the account page, which log in, link, or show anew who somebody is.
extension AccountPages {
    func mountProviders(on pages: Mount) {
        // Opened by a link: a form's policy would have to name wherever the dialog leads. It changes nothing here.
        open(.get, "/providers/{provider}/start", on: pages, counting: .login) { (asked) throws(Failure) in
            try await startDialog(asked)
        }
        open(.get, "/providers/{provider}/authorize", on: pages, counting: .login) { (asked) throws(Failure) in
            try await closeDialog(asked)
        }
        open(.post, "/providers/{provider}", on: pages, counting: .login) { (asked) throws(Failure) in
            try await takeLogin(asked)
        }
    }

    /// The providers of an application that have a dialog.
    func dialogs(of loaded: LoadedApplication) -> [any DialogOffering] {
        loaded.configuredProviders.compactMap { try? loaded.provider($0.name, as: (any DialogOffering).self) }
    }

    private func startDialog(_ asked: AccountRequest) async throws(Failure) -> Response {
        let provider = try asked.provider
        var request = DialogRequest()
        request.accountPage = asked.url
        // A second factor is asked for when the code is taken.
        request.isForLinking = true
        let ticket = try await dialog.openDialog(request, of: provider, for: asked.loaded) {
            DialogAddresses(start: { $0 }, redirectURI: "\(asked.url)/providers/\(provider)/authorize")
        }
        let started = try await dialog.startDialog(
            ticket,
            of: provider,
            in: asked.dialogCookie.value(in: asked.request.headers),
            for: asked.loaded
        )
        var response = Response.seeOther(started.address)
        response.headers[.setCookie] = asked.dialogCookie.header(started.browser, seconds: started.seconds)
        return response
    }

    /// Shows a form with the code at the dialog's end: the provider has sent the browser here, so it has not brought
    /// the cookie of the session, and a form of ours will.
    private func closeDialog(_ asked: AccountRequest) async throws(Failure) -> Response {
        let provider = try asked.provider
        let title = asked.loaded.title(of: provider)
        let browser = asked.dialogCookie.value(in: asked.request.headers)
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
                \(HTML.hidden(FormGuard.field, asked.forms.token(of: browser)))\
                \(HTML.hidden("loginCode", code.reveal()))<p><button>\(asked.language(.goOn))</button></p>

                """
            let body: HTML = """
                <p>\(asked.language(.backFromProvider(provider: title))) \(asked.language(.withinMinute))</p>
                \(asked.form(to: "/providers/\(provider)", fields))
                """
            return asked.response(.title, body, by: errors)
        case .failure(let failure):
            let body: HTML = """
                <p>\(asked.language(.notFromProvider(provider: title)))</p>
                \(asked.button(to: "", .toAccount))
                """
            return asked.response(.title, body, problem: failure, by: errors)
        }
    }

    /// Takes the code at the dialog's end: links the identity to who is logged in, or logs in by it.
    private func takeLogin(_ asked: AccountRequest) async throws(Failure) -> Response {
        let provider = try asked.provider
        let form = try await form(asked)
        guard let browser = asked.dialogCookie.value(in: asked.request.headers) else { throw Self.notFromHere }
        try asked.forms.check(form, of: asked.request, secret: browser)
        let request = LoginRequest(
            provider: provider,
            credential: CredentialFields(loginCode: try form.value("loginCode") ?? ""),
            mapping: nil,
            appID: nil,
            previousToken: asked.token,
            client: asked.client
        )
        let (loaded, logger) = (asked.loaded, asked.context.logger)
        guard let visit = try await visit(asked) else {
            do throws(Failure) {
                let signedIn = try await signIn.signIn(request, to: loaded, logger: logger)
                return try await opened(signedIn.token, asked)
            } catch {
                return try await putOff(error, asked)
            }
        }
        do throws(Failure) {
            _ = try await linking.link(request, toUserOf: visit.token, in: loaded, logger: logger)
            return .seeOther(asked.path)
        } catch {
            // A guest becomes a user by it, which may take a second factor.
            guard error.reason == .reauthenticationRequired else { return try await putOff(error, asked) }
            return try await proofPage(of: .identity, for: nil, sentTo: "/proof", visit)
        }
    }

    private static let notFromHere = Failure(
        .loginStateInvalid,
        "This login was not begun on this page, has ended already, or took too long. Open the page of your account and begin it again."
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
