import Accounts
import Applications
import Factors
import HTTP
import HTTPTypes
import Hummingbird
import Limiting
import Logins
import Providers
import Vocabulary

/// Logging in to the account page, by a link of the app, by a password or by a provider, and out of it.
extension AccountPages {
    func mountSignIn(on pages: Mount) {
        open(.get, "", on: pages, counting: .query) { (asked) throws(Failure) in
            // To look at a link uses nothing up and logs nobody in: programs look at links before people do.
            if let link = asked.query["link"] { return try await linkPage(link, asked) }
            guard let visit = try await visit(asked) else {
                let hasEnded = asked.cookie.value(in: asked.request.headers) != nil
                var response = signInPage(asked, hint: hasEnded ? .sessionEnded(application: asked.name) : nil)
                if hasEnded { response.headers[.setCookie] = asked.cookie.removal }
                return response
            }
            return try await home(visit)
        }
        open(.post, "/link", on: pages, counting: .login) { (asked) throws(Failure) in
            let link = try await form(asked).value("link") ?? ""
            let token = try await links.openSession(by: link, in: asked.loaded, logger: asked.context.logger)
            return try await opened(token, asked)
        }
        open(.post, "/sign-in", on: pages, counting: .password) { (asked) throws(Failure) in
            let form = try await form(asked)
            guard let waiting = try WaitingFactor(form) else { return try await logIn(by: form, asked) }
            return try await finish(waiting, by: form, asked)
        }
        open(.get, "/forgot", on: pages, counting: .query) { (asked) throws(Failure) in forgotPage(asked) }
        open(.post, "/forgot", on: pages, counting: .mail) { (asked) throws(Failure) in
            let form = try await form(asked)
            do throws(Failure) {
                try await passwordReset.restorePassword(
                    of: try form.value("login") ?? "",
                    from: asked.source,
                    in: asked.loaded,
                    logger: asked.context.logger
                )
            } catch {
                guard [.loginUnknown, .tooManyAttempts].contains(error.reason) else { throw error }
                return forgotPage(asked, problem: refusals.logged(error, facts(asked), in: asked.context))
            }
            let body: HTML = """
                <p role="status">\(asked.language(.linkIsSent(application: asked.name)))</p>
                \(asked.button(to: "", .signIn))
                """
            return asked.response(.forgotPassword, body, by: errors)
        }
        action("/sign-out", on: pages) { (visit, _) throws(Failure) in
            try await sessions.signOut(visit.token, of: visit.loaded)
            let asked = visit.asked
            let body: HTML = """
                <p>\(asked.language(.signedOut))</p>
                \(asked.button(to: "", .signIn))
                """
            return leaving(asked.response(.loggedOut, body, by: errors), asked)
        }
    }

    /// Nothing that was seen is shown once more by the button "back".
    func leaving(_ response: Response, _ asked: AccountRequest) -> Response {
        var response = response
        response.headers[.setCookie] = asked.cookie.removal
        response.headers[.clearSiteData] = "\"cache\""
        return response
    }

    /// The page says whose account it is: somebody may have sent a link to an account of their own.
    private func linkPage(_ link: String, _ asked: AccountRequest) async throws(Failure) -> Response {
        let user = try await links.owner(of: link, in: asked.loaded)
        let address = user.shown(.email).flatMap { FactorHints.masked($0) }
        let fields: HTML = "<p><button>\(asked.language(.open))</button></p>\n"
        let body: HTML = """
            <p>\(asked.language(.openAccount(application: asked.name)))</p>
            <p>\(asked.language(.accountOf(address: address, since: asked.language.day(user.created))))</p>
            <p>\(asked.language(.openedByApp))</p>
            \(asked.form(to: "/link", HTML.hidden("link", link) + fields))
            """
        return asked.response(.title, body, by: errors)
    }

    /// The field for what people log in by.
    private func loginField(_ asked: AccountRequest) -> HTML {
        let field: HTML =
            asked.loaded.application.settings.identityProperty == .email
            ? "\(asked.language(.emailAddress))\n<input type=\"email\""
            : "\(asked.language(.loginName))\n<input type=\"text\""
        return "<p><label>\(field) name=\"login\" autocomplete=\"username\" required></label></p>\n"
    }

    /// The form that has a link mailed by which the user chooses another password.
    private func forgotPage(_ asked: AccountRequest, problem: Failure? = nil) -> Response {
        let fields: HTML = """
            \(loginField(asked))<p><button>\(asked.language(.sendLink))</button></p>

            """
        let body: HTML = """
            <p>\(asked.language(.askForLink(application: asked.name)))</p>
            \(asked.form(to: "/forgot", fields))
            \(asked.button(to: "", .signIn))
            """
        return asked.response(.forgotPassword, body, problem: problem, by: errors)
    }

    func signInPage(_ asked: AccountRequest, hint: AccountText? = nil, problem: Failure? = nil) -> Response {
        let language = asked.language
        let fields: HTML = """
            \(loginField(asked))<p><label>\(language(.password))
            <input type="password" name="password" autocomplete="current-password" required></label></p>
            <p><button>\(language(.signIn))</button></p>

            """
        let providers = dialogs(of: asked.loaded).map { provider in
            asked.button(to: "/providers/\(provider.name)/start", .signInWith(provider: provider.title))
        }
        let forgotten: HTML =
            passwordReset.canSend
            ? "<p><a href=\"\(asked.path)/forgot\">\(language(.forgotPassword))</a></p>\n" : ""
        let others: HTML = providers.isEmpty ? "" : "<h2>\(language(.orSignInWith))</h2>\n\(providers.joined())"
        let body: HTML = """
            \(hint.map { "<p>\(language($0))</p>\n" as HTML } ?? "")\(asked.form(to: "/sign-in", fields))
            \(forgotten)\(others)
            """
        return asked.response(.signIn, body, problem: problem, by: errors)
    }

    private func logIn(by form: FormFields, _ asked: AccountRequest) async throws(Failure) -> Response {
        let login = PasswordLogin(
            login: try form.value("login") ?? "",
            password: Secret(try form.value("password") ?? ""),
            previousToken: asked.token,
            client: asked.client,
            source: asked.source
        )
        do throws(Failure) {
            let signedIn = try await passwordLogins.logIn(login, to: asked.loaded, logger: asked.context.logger)
            return try await opened(signedIn.token, asked)
        } catch {
            return try await putOff(error, asked)
        }
    }

    /// Asks for the second factor that a login is put off for; tells whatever else it is refused for.
    func putOff(_ failure: Failure, _ asked: AccountRequest) async throws(Failure) -> Response {
        switch failure.reason {
        case .secondFactorRequired:
            guard let waiting = WaitingFactor(failure.details) else { throw failure }
            return try await factorPage(waiting, asked)
        case .secondFactorEnrolmentRequired:
            return signInPage(asked, hint: .enrolInApp(application: asked.name))
        case .loginInvalid, .loginIncomplete, .tooManyAttempts, .emailUnconfirmed, .accountDisabled, .tooManySessions,
            .alreadyLoggedIn, .credentialInvalid, .pendingSignInInvalid:
            return signInPage(asked, problem: refusals.logged(failure, facts(asked), in: asked.context))
        default: throw failure
        }
    }

    func facts(_ asked: AccountRequest) -> RefusalLog.Facts { .init(application: asked.loaded.application.id) }

    /// Takes what the page has sent that asks for the second factor of a login.
    private func finish(
        _ waiting: WaitingFactor,
        by form: FormFields,
        _ asked: AccountRequest
    ) async throws(Failure) -> Response {
        do throws(Failure) {
            guard try !waiting.isToBeAskedAnew(by: form) else { return try await factorPage(waiting, by: form, asked) }
            let outcome = try await secondFactor.finish(
                try waiting.answer(form, from: asked.source),
                session: nil,
                in: asked.loaded,
                logger: asked.context.logger
            )
            guard case .signedIn(let finished) = outcome else {
                throw Failure(.malformedRequest, "This form is of no login.")
            }
            return try await opened(finished.signedIn.token, asked)
        } catch {
            guard error.reason.leavesAnotherFactor else { return try await putOff(error, asked) }
            return try await factorPage(waiting, by: form, asked, problem: error)
        }
    }

    private func factorPage(
        _ waiting: WaitingFactor,
        by form: FormFields? = nil,
        _ asked: AccountRequest,
        problem: Failure? = nil
    ) async throws(Failure) -> Response {
        let (fields, runsPasskeys) = try await fields(for: waiting, by: form, asked, problem: problem)
        return asked.response(
            .signIn,
            "<p>\(asked.language(.showSecondFactor))</p>\n\(asked.form(to: "/sign-in", fields))",
            problem: problem.map { refusals.logged($0, facts(asked), in: asked.context) },
            by: errors,
            runsPasskeys: runsPasskeys
        )
    }

    /// The page, with a session that the browser keeps from now on in place of the one that it had.
    func opened(_ token: SessionToken, _ asked: AccountRequest) async throws(Failure) -> Response {
        if let former = asked.token {
            do throws(Failure) {
                try await sessions.signOut(former, of: asked.loaded)
            } catch {
                guard error.reason == .sessionInvalid else { throw error }
            }
        }
        var response = Response.seeOther(asked.path)
        response.headers[.setCookie] = asked.cookie.header(token.secret)
        return response
    }
}
