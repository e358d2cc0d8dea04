import Accounts
import Applications
import Description
import Domain
import Encodings
import Factors
import HTTP
import Hummingbird
import Limiting
import Logins
import Providers

/// Logins to the account page (by a link from the app, by password or by a provider), and the logout.
extension AccountPages {
    func mountLogin(on pages: PageRoutes.Mount) {
        open(.get, "", .showAccount, on: pages, counting: .query) { (asked) throws(Failure) in
            // A GET neither uses up the link nor logs in: programs such as mail scanners open links before users do.
            if let link = asked.query["link"] { return try await linkPage(link, asked) }
            guard let visit = try await visit(asked) else {
                let hasEnded = asked.cookie.value(in: asked.request.headers) != nil
                var response = loginPage(asked, hint: hasEnded ? .sessionEnded : nil)
                if hasEnded { response.headers[.setCookie] = asked.cookie.removal }
                return response
            }
            return try await home(visit)
        }
        open(.post, "/link", .openAccountByLink, on: pages, counting: .login) { (asked) throws(Failure) in
            let link = try await form(asked).value("link") ?? ""
            let token = try await links.openSession(by: link, in: asked.loaded, logger: asked.context.logger)
            return try await opened(token, asked)
        }
        open(.post, "/login", .logInToAccount, on: pages, counting: .password) { (asked) throws(Failure) in
            let form = try await form(asked)
            guard let waiting = try PendingFactor(form) else { return try await logIn(by: form, asked) }
            return try await finish(waiting, by: form, asked)
        }
        open(.get, "/forgot", .showForgottenPassword, on: pages, counting: .query) { (asked) throws(Failure) in
            forgotPage(asked)
        }
        open(.post, "/forgot", .mailForgottenPassword, on: pages, counting: .mail) { (asked) throws(Failure) in
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
                return forgotPage(asked, problem: logged(error, asked))
            }
            return asked.response(
                .forgotPassword,
                "\(HTML.notice(asked.words(.linkIsSent)))\(asked.back(.logIn))"
            )
        }
        action("/sign-out", .logOutOfAccount, on: pages) { (visit, _) throws(Failure) in
            try await sessions.signOut(visit.session, of: visit.loaded)
            let body: HTML = "<p>\(visit.words(.signedOut))</p>\n\(visit.asked.back(.logIn))"
            return leaving(visit.asked.response(.loggedOut, body), visit.asked)
        }
    }

    /// Returns the response with headers that remove the session cookie and clear the browser's cache.
    ///
    /// The browser's "back" button then shows no page of the account.
    func leaving(_ response: Response, _ asked: AccountRequest) -> Response {
        var response = response
        response.headers[.setCookie] = asked.cookie.removal
        response.headers[.clearSiteData] = "\"cache\""
        return response
    }

    /// Returns the page on which a user who opened a login link confirms the login.
    ///
    /// The page names the account that the link belongs to. Otherwise an attacker could send a link to the attacker's
    /// own account, and the user would not notice.
    private func linkPage(_ link: String, _ asked: AccountRequest) async throws(Failure) -> Response {
        let user = try await links.owner(of: link, in: asked.loaded)
        let words = asked.words
        let owner =
            user.shown(.email).flatMap { FactorHints.masked($0) }
            .map { words(.accountWithAddress, [.address: "\($0)"]) }
            ?? words(.accountSince, [.moment: words.day(user.created)])
        let body: HTML = """
            <p>\(words(.openAccountHere))</p>
            <p>\(owner)</p>
            <p>\(words(.openedByApp))</p>
            \(asked.form(to: "/link", "\(HTML.hidden("link", link))\(HTML.submit(words(.openMyAccount)))"))
            """
        return asked.response(.yourAccount, body)
    }

    /// Returns a form field in which a user enters the login name.
    private func loginField(_ asked: AccountRequest) -> HTML {
        let isAddress = asked.loaded.application.settings.identityProperty == .email
        return .field(
            "login",
            asked.words(isAddress ? .emailAddress : .loginName),
            type: isAddress ? "email" : "text",
            attributes: "autocomplete=\"username\" required"
        )
    }

    /// Returns the page with the form that requests a mail with a link to set a new password.
    private func forgotPage(_ asked: AccountRequest, problem: Failure? = nil) -> Response {
        let body: HTML = """
            <p>\(asked.words(.askForLink))</p>
            \(asked.form(to: "/forgot", "\(loginField(asked))\(HTML.submit(asked.words(.sendLink)))"))
            \(asked.back(.logIn))
            """
        return asked.response(.forgotPassword, body, problem: problem)
    }

    func loginPage(_ asked: AccountRequest, hint: PageText? = nil, problem: Failure? = nil) -> Response {
        let words = asked.words
        let fields: HTML = "\(loginField(asked))\(words.passwordField())\(HTML.submit(words(.logIn)))"
        let forgotten: HTML = "<p><a href=\"\(asked.path)/forgot\">\(words(.forgotPassword))</a></p>\n"
        let providers = dialogs(of: asked.loaded)
        let others: HTML = "<h2>\(words(.orLogInWith))</h2>\n\(asked.buttons(to: providers, .logInWith))"
        let body: HTML = """
            \(hint.map { "<p>\(words($0))</p>\n" as HTML })\(asked.form(to: "/login", fields))
            \(forgotten, if: passwordReset.canSend)\(others, if: !providers.isEmpty)
            """
        return asked.response(.logIn, body, problem: problem)
    }

    private func logIn(by form: FormFields, _ asked: AccountRequest) async throws(Failure) -> Response {
        let login = PasswordLogin(
            login: try form.value("login") ?? "",
            password: Secret(try form.value("password") ?? ""),
            previousSession: asked.token?.key,
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

    /// Returns the page that follows a login attempt that opened no session.
    ///
    /// It asks for the second factor, or it is the login page with the reason. The method throws a failure that neither
    /// page can show.
    func putOff(_ failure: Failure, _ asked: AccountRequest) async throws(Failure) -> Response {
        switch failure.reason {
        case .secondFactorRequired:
            guard let waiting = PendingFactor(failure.details) else { throw failure }
            return try await factorPage(waiting, asked)
        case .secondFactorEnrolmentRequired:
            return loginPage(asked, hint: .enrolInApp)
        case .loginInvalid, .loginIncomplete, .tooManyAttempts, .emailUnconfirmed, .accountDisabled, .tooManySessions,
            .alreadyLoggedIn, .credentialInvalid, .pendingLoginInvalid, .accountExists:
            return loginPage(asked, problem: logged(failure, asked))
        default: throw failure
        }
    }

    /// Completes a pending login with the second factor that the user has entered in a form.
    private func finish(
        _ waiting: PendingFactor,
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
                throw Failure(.malformedRequest, "This form does not belong to a login. Log in again.")
            }
            return try await opened(finished.signedIn.token, asked)
        } catch {
            guard error.reason.leavesAnotherFactor else { return try await putOff(error, asked) }
            return try await factorPage(waiting, by: form, asked, problem: error)
        }
    }

    private func factorPage(
        _ waiting: PendingFactor,
        by form: FormFields? = nil,
        _ asked: AccountRequest,
        problem: Failure? = nil
    ) async throws(Failure) -> Response {
        let (fields, runsPasskeys) = try await fields(for: waiting, by: form, asked, problem: problem)
        return asked.response(
            .logIn,
            "<p>\(asked.words(.showSecondFactor))</p>\n\(asked.form(to: "/login", fields))",
            problem: problem.map { logged($0, asked) },
            runsPasskeys: runsPasskeys
        )
    }

    /// Redirects to the account page with a new session cookie, and revokes the browser's former session.
    func opened(_ token: SessionToken, _ asked: AccountRequest) async throws(Failure) -> Response {
        if let former = asked.token?.key {
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

extension Operation {
    fileprivate static let showAccount = page(
        "showAccount",
        """
        The account page, or the form to log in to it; with a link, the page that opens it. To look at it changes \
        nothing.
        """,
        parameters: [Parameter("link", in: .query, .string, "Of users/account/link.")]
    )

    fileprivate static let openAccountByLink = page(
        "openAccountByLink",
        "Opens a session of the page by a link, which counts once.",
        form: .fields(["link": .string]),
        .accountRedirect
    )

    fileprivate static let logInToAccount = page(
        "logInToAccount",
        "Logs in to the page by a password, with the second factor where one is asked for.",
        form: .fields(["login": .string, "password": .string]).adding(optional: PendingFactor.fields),
        or: [.accountRedirect]
    )

    fileprivate static let showForgottenPassword = page(
        "showForgottenPassword",
        "The form that has a link mailed by which another password is chosen."
    )

    fileprivate static let mailForgottenPassword = page(
        "mailForgottenPassword",
        "Mails the link. Whether there is such an account shows in nothing, unless the application wants it told.",
        form: .fields(["login": .string])
    )

    fileprivate static let logOutOfAccount = page(
        "logOutOfAccount",
        "Ends the session of the page.",
        form: .fields(["form": .sessionForm])
    )
}
