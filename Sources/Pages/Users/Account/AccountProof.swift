import Accounts
import Applications
import Domain
import Factors
import HTTP
import Hummingbird
import Limiting
import Logins
import Messaging
import Providers

/// The page on which a logged-in user enters the password or a second factor again before a change.
///
/// The page contains the fields of the form that requested the change. The browser sends them again, together with the
/// password or second factor.
extension AccountPages {
    /// How a user must reauthenticate before an action.
    enum Proof {
        /// The user must have logged in recently.
        case identity
        /// The user must have entered a second factor recently.
        case factor
    }

    /// The name of the form field with the password for the reauthentication.
    private static let password = "proof"
    /// The names of the form fields that serve only the reauthentication.
    ///
    /// `kept` leaves them out when it repeats the form that requested the change.
    private static let fields = [
        FormGuard.field, password, PendingFactor.field, "factor", "code", "credential", "send", "choose",
    ]

    /// Runs a form's action if the user has reauthenticated as the action requires.
    ///
    /// Otherwise the response is a page that asks for the reauthentication and contains the form's fields.
    func showing(
        _ form: FormFields,
        sentTo path: String,
        _ visit: AccountVisit,
        _ act: () async throws(Failure) -> Response
    ) async throws(Failure) -> Response {
        let waiting = try PendingFactor(form)
        let password = try form.value(Self.password)
        // Whatever the action counts as, each reauthentication also counts as a password attempt: it is costly, and
        // users can guess.
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
                    session: visit.session,
                    in: visit.loaded,
                    logger: visit.asked.context.logger
                )
                // The second factor belongs to a pending login, not to this session.
                guard case .reauthenticated = outcome else {
                    throw Failure(.malformedRequest, "This form belongs to another login. Start again.")
                }
            } catch {
                switch error.reason {
                case .pendingLoginInvalid:
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

    private static let wrongPassword = Failure(.loginInvalid, "The password is wrong. Try again.")

    private func isRight(_ password: String, _ visit: AccountVisit) async throws(Failure) -> Bool {
        try await reauthentication.verifyPassword(
            Secret(password),
            ofSession: visit.session,
            from: visit.asked.source,
            in: visit.loaded
        )
    }

    /// Returns the page that asks the user to reauthenticate by the password, by a provider or by a second factor.
    func proofPage(
        of proof: Proof,
        for form: FormFields?,
        sentTo path: String,
        _ visit: AccountVisit,
        problem: Failure? = nil
    ) async throws(Failure) -> Response {
        let (asked, words) = (visit.asked, visit.words)
        let methods =
            proof == .identity ? try await linking.loginMethods(ofUserOf: visit.session, in: visit.loaded) : []
        if methods.contains(where: { $0.provider == ProviderName.password.text }) {
            let fields: HTML = """
                \(kept(form, words))\(words.passwordField(Self.password))\(HTML.submit(words(.goOn)))
                """
            let body: HTML = "<p>\(words(.confirmByPassword))</p>\n\(visit.form(to: path, fields))"
            return asked.response(.itIsYou, body, problem: problem)
        }
        let providers = dialogs(of: visit.loaded).filter { provider in
            methods.contains { $0.provider == provider.name.text }
        }
        guard providers.isEmpty else {
            let body: HTML = "<p>\(words(.confirmByProvider))</p>\n\(asked.buttons(to: providers, .logInWith))"
            return asked.response(.itIsYou, body, problem: problem)
        }
        do throws(Failure) {
            let details = try await secondFactor.startReauthentication(of: visit.session, by: nil, in: visit.loaded)
            // In place of a login, only a passkey is accepted of all factors, since it verifies its user.
            let kinds: [FactorKind] = proof == .factor ? FactorKind.allCases : [.passkey]
            if let waiting = PendingFactor(details, of: kinds), !waiting.factors.isEmpty {
                return try await factorPage(waiting, for: form, sentTo: path, visit, problem: problem)
            }
        } catch {
            guard error.reason == .factorNotOffered else { throw error }
        }
        let body: HTML = "<p>\(words(.confirmElsewhere))</p>\n\(asked.back())"
        return asked.response(.itIsYou, body, problem: problem)
    }

    private func factorPage(
        _ waiting: PendingFactor,
        for form: FormFields?,
        sentTo path: String,
        _ visit: AccountVisit,
        problem: Failure? = nil
    ) async throws(Failure) -> Response {
        let (fields, runsPasskeys) = try await fields(for: waiting, by: form, visit.asked, problem: problem)
        let form = visit.form(to: path, "\(kept(form, visit.words))\(fields)")
        return visit.asked.response(
            .itIsYou,
            "<p>\(visit.words(.confirmByFactor))</p>\n\(form)",
            problem: problem,
            runsPasskeys: runsPasskeys
        )
    }

    /// Returns fields that repeat the form which requested the change, so that no input is lost.
    ///
    /// The fields are hidden, except those for passwords. The user types passwords again, so that no page contains a
    /// password.
    private func kept(_ form: FormFields?, _ words: PageWords) -> [HTML] {
        (form?.all ?? []).filter { !Self.fields.contains($0.name) }.map { field in
            switch field.name {
            case "currentPassword": words.passwordField(field.name, .presentPassword)
            case "password":
                HTML.field(
                    field.name,
                    words(.newPassword),
                    type: "password",
                    attributes: "autocomplete=\"new-password\" required"
                )
            default: HTML.hidden(field.name, field.value)
            }
        }
    }
}
