import Accounts
import Applications
import Factors
import HTTP
import HTTPTypes
import Hummingbird
import Limiting
import Logins
import Notifications
import Providers
import Vocabulary

/// Asks the person of a session to show who they are before something is changed, together with the form that changes
/// it, which is sent again with what was asked for.
extension AccountPages {
    /// What is asked for.
    enum Proof {
        /// To have logged in of late.
        case identity
        /// To have shown a second factor of late.
        case factor
    }

    /// The field for the password.
    private static let password = "proof"
    /// What is asked for, and so no part of the form that it comes with.
    private static let fields = [
        FormGuard.field, password, WaitingFactor.field, "factor", "code", "credential", "send", "choose",
    ]

    /// Does what a form says, once its person has shown what it takes; else shows the form once more, with what is asked
    /// for.
    func showing(
        _ form: FormFields,
        sentTo path: String,
        _ visit: AccountVisit,
        _ act: () async throws(Failure) -> Response
    ) async throws(Failure) -> Response {
        let waiting = try WaitingFactor(form)
        let password = try form.value(Self.password)
        // Whatever the action counts as: this is what costs, and what is guessed at.
        if password != nil || waiting != nil {
            let source = visit.asked.context.peer.limitedSource
            try rateLimiter.take(.password, of: visit.loaded.application.id, from: source)
        }
        if let password {
            guard try await isRight(password, visit) else {
                return try await proofPage(of: .identity, for: form, sentTo: path, visit, problem: Self.wrongPassword)
            }
        }
        if let waiting {
            do throws(Failure) {
                guard try !waiting.isToBeAskedAnew(by: form) else {
                    return try await factorPage(waiting, for: form, sentTo: path, visit)
                }
                let outcome = try await secondFactor.finish(
                    try waiting.answer(form, from: visit.asked.source),
                    session: visit.token,
                    in: visit.loaded,
                    logger: visit.asked.context.logger
                )
                // One that waits for a login is none of this session's.
                guard case .reauthenticated = outcome else {
                    throw Failure(.malformedRequest, "This form is of no session.")
                }
            } catch {
                switch error.reason {
                case .pendingSignInInvalid:
                    return try await proofPage(of: .factor, for: form, sentTo: path, visit, problem: error)
                case let reason where reason.leavesAnotherFactor:
                    return try await factorPage(waiting, for: form, sentTo: path, visit, problem: error)
                default: throw error
                }
            }
        }
        do throws(Failure) {
            return try await act()
        } catch {
            switch error.reason {
            case .reauthenticationRequired: return try await proofPage(of: .identity, for: form, sentTo: path, visit)
            case .factorReauthenticationRequired:
                return try await proofPage(of: .factor, for: form, sentTo: path, visit)
            default: throw error
            }
        }
    }

    private static let wrongPassword = Failure(.loginInvalid, "This is not the password of this account.")

    private func isRight(_ password: String, _ visit: AccountVisit) async throws(Failure) -> Bool {
        try await reauthentication.verifyPassword(
            Secret(password),
            ofSession: visit.token,
            from: visit.asked.source,
            in: visit.loaded
        )
    }

    /// Asks for a proof by what the account has: the password, another login by a provider, or a second factor.
    func proofPage(
        of proof: Proof,
        for form: FormFields?,
        sentTo path: String,
        _ visit: AccountVisit,
        problem: Failure? = nil
    ) async throws(Failure) -> Response {
        let (asked, language) = (visit.asked, visit.language)
        let methods = proof == .identity ? try await linking.loginMethods(ofUserOf: visit.token, in: visit.loaded) : []
        if methods.contains(where: { $0.provider == ProviderName.password.text }) {
            let fields: HTML = """
                \(kept(form, in: language))<p><label>\(language(.password))
                <input type="password" name="\(Self.password)" autocomplete="current-password" required></label></p>
                <p><button>\(language(.goOn))</button></p>

                """
            let body: HTML = "<p>\(language(.confirmByPassword))</p>\n\(visit.form(to: path, fields))"
            return asked.response(.itIsYou, body, problem: problem, by: errors)
        }
        let providers = dialogs(of: visit.loaded).filter { provider in
            methods.contains { $0.provider == provider.name.text }
        }
        guard providers.isEmpty else {
            let links = providers.map { provider in
                asked.button(to: "/providers/\(provider.name)/start", .signInWith(provider: provider.title))
            }
            let body: HTML = "<p>\(language(.confirmByProvider))</p>\n\(links.joined())"
            return asked.response(.itIsYou, body, problem: problem, by: errors)
        }
        do throws(Failure) {
            let details = try await secondFactor.startReauthentication(of: visit.token, by: nil, in: visit.loaded)
            // Of these a passkey alone, which makes sure who holds it, is a login.
            let kinds: [FactorKind] = proof == .factor ? FactorKind.allCases : [.passkey]
            if let waiting = WaitingFactor(details, of: kinds), !waiting.factors.isEmpty {
                return try await factorPage(waiting, for: form, sentTo: path, visit, problem: problem)
            }
        } catch {
            guard error.reason == .factorNotOffered else { throw error }
        }
        return asked.response(
            .itIsYou,
            "<p>\(language(.confirmElsewhere(application: asked.name)))</p>\n\(asked.button(to: "", .toAccount))",
            problem: problem,
            by: errors
        )
    }

    private func factorPage(
        _ waiting: WaitingFactor,
        for form: FormFields?,
        sentTo path: String,
        _ visit: AccountVisit,
        problem: Failure? = nil
    ) async throws(Failure) -> Response {
        let (fields, runsPasskeys) = try await fields(for: waiting, by: form, visit.asked, problem: problem)
        return visit.asked.response(
            .itIsYou,
            "<p>\(visit.language(.confirmByFactor))</p>\n\(visit.form(to: path, kept(form, in: visit.language) + fields))",
            problem: problem,
            by: errors,
            runsPasskeys: runsPasskeys
        )
    }

    /// What was typed, so that nothing of it is lost; passwords are typed again, and so stand in no page.
    private func kept(_ form: FormFields?, in language: PageLanguage) -> HTML {
        (form?.all ?? []).filter { !Self.fields.contains($0.name) }.map { field in
            let (label, completion): (HTML, HTML)
            switch field.name {
            case "currentPassword": (label, completion) = (language(.presentPassword), "current-password")
            case "password": (label, completion) = (language(.newPassword), "new-password")
            default: return HTML.hidden(field.name, field.value)
            }
            return """
                <p><label>\(label)
                <input type="password" name="\(field.name)" autocomplete="\(completion)" required></label></p>

                """
        }.joined()
    }
}
