import Applications
package import Domain
package import Encodings
package import Factors
package import Logins
package import Messaging
import Secrets
package import Store

/// The question for a second factor when a link sets a password.
package struct LinkFactorQuestion: Sendable {
    /// The encrypted pending operation, which the answer sends back.
    package let pending: Secret
    package let factor: Factor
    /// The masked target of a sent code.
    package let sentTo: String?
    /// The options with which a browser requests a passkey.
    package let publicKey: JSONObject?
    package let others: [Factor]
}

/// The user's choice of a factor, on the page of a link.
package struct LinkFactorWish: Sendable {
    /// The encrypted pending operation, as the page received it.
    package let pending: String
    package let factor: ObjectID
    package let sends: Bool
    package let source: RequestSource

    package init(pending: String, factor: ObjectID, sends: Bool, source: RequestSource) {
        self.pending = pending
        self.factor = factor
        self.sends = sends
        self.source = source
    }
}

/// A second factor, sent with the password that a link sets.
package struct LinkFactorAnswer: Sendable {
    package struct Shown: Sendable {
        /// The encrypted pending operation.
        let pending: String
        /// The id of the factor; nil for a passkey, which identifies itself.
        let factor: ObjectID?
        let response: FactorResponse

        package init(pending: String, factor: ObjectID?, response: FactorResponse) {
            self.pending = pending
            self.factor = factor
            self.response = response
        }
    }

    /// Nil in the first request, before the client knows that a factor is required.
    let shown: Shown?
    let keyLabel: String?
    let source: RequestSource

    package init(_ shown: Shown?, keyLabel: String?, source: RequestSource) {
        self.shown = shown
        self.keyLabel = keyLabel
        self.source = source
    }
}

/// The second factor for passwords set by a link: access to a mailbox alone does not open a protected account.
///
/// A class, since each function that waits for a provider would have a copy in its frame.
package final class LinkFactors: Sendable {
    let store: Store
    let pendings: PendingSignIns
    let checks: FactorChecks
    let hints: FactorHints

    package init(store: Store, pendings: PendingSignIns, checks: FactorChecks, hints: FactorHints) {
        self.store = store
        self.pendings = pendings
        self.checks = checks
        self.hints = hints
    }

    /// Returns the question on the page of a link; nil if no factor is required.
    ///
    /// - Throws: `factor_not_offered` if no valid factor can be used; the errors of sending a code.
    func question(
        of link: Link,
        _ wish: LinkFactorWish?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> LinkFactorQuestion? {
        guard let factors = try await factors(of: link, in: loaded.application) else { return nil }
        let application = loaded.application
        let pending: PendingLink
        if let wish {
            pending = try pendings.opened(wish.pending, ofLink: link.hash, by: nil, in: application)
        } else {
            pending = pendings.begun(forLink: link.hash, of: link.token.user, by: nil, in: application)
        }
        let shown = factors.map { hints.shown($0, of: application.id) }
        let chosen = shown.first { $0.id == wish?.factor } ?? shown.first { $0.kind.standsAlone } ?? shown.first
        guard let chosen else { throw .nothingCounts }
        var challenge = checks.challenge(chosen, among: factors, for: pending.occasion, in: application)
        if let wish, wish.sends {
            challenge = try await checks.challenge(
                chosen.id,
                of: link.token.user,
                for: pending.occasion,
                from: wish.source,
                in: loaded
            )
        }
        return LinkFactorQuestion(
            pending: pending.text,
            factor: chosen,
            sentTo: challenge.sentTo,
            publicKey: challenge.publicKey,
            others: shown.filter { $0.id != chosen.id }
        )
    }

    /// Requires a second factor of a request without one, if the account has one.
    ///
    /// - Throws: `second_factor_required` with the pending operation.
    func require(
        _ answer: LinkFactorAnswer,
        for link: Link,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard answer.shown == nil, let factors = try await factors(of: link, in: loaded.application) else { return }
        let pending = pendings.begun(
            forLink: link.hash,
            of: link.token.user,
            by: answer.keyLabel,
            in: loaded.application
        )
        throw Failure(
            .secondFactorRequired,
            "This account is protected by a second factor. Show it with the new password; if this app does not ask you for it, open the link in a browser.",
            details: pendings.details(of: pending, factors, in: loaded.application)
        )
    }

    /// Checks the second factor of a request; returns nil if there is none.
    ///
    /// - Throws: `second_factor_invalid`, `pending_sign_in_invalid`, `too_many_attempts`.
    func check(
        _ answer: LinkFactorAnswer,
        for link: Link,
        in loaded: LoadedApplication
    ) async throws(Failure) -> FactorProof? {
        let application = loaded.application
        guard let shown = answer.shown, let factors = try await factors(of: link, in: application) else { return nil }
        let pending = try pendings.opened(shown.pending, ofLink: link.hash, by: answer.keyLabel, in: application)
        if let id = shown.factor {
            guard factors.contains(where: { $0.id == id }) else { throw .doesNotCount }
        }
        let checked = try await checks.check(
            shown.response,
            by: shown.factor,
            of: link.token.user,
            among: factors,
            for: pending.occasion,
            use: .link,
            from: answer.source,
            in: loaded
        )
        return FactorProof(
            user: link.token.user,
            evidence: .shown(checked.shown),
            guess: checked.guess
        )
    }

    /// A link that its reader has opened.
    struct Link {
        let hash: [UInt8]
        let token: EmailToken
        let purpose: EmailTokenPurpose
    }

    /// Returns the factors that are valid for a link; nil if none is required.
    ///
    /// A code by mail is not valid if it goes to the mailbox of the link, in any spelling of the address: it would only
    /// show the access to that mailbox again.
    private func factors(of link: Link, in application: Application) async throws(Failure) -> [StoredFactor]? {
        let factors = try await store.factors(ofLink: link.hash, for: link.purpose, in: application)
        let mailbox = EmailAddress(link.token.email)?.mailbox
        return factors.map { factors in
            checks.usable(factors, in: application).filter { factor in
                factor.kind != .email
                    || hints.target(of: factor, of: application.id).flatMap { EmailAddress($0)?.mailbox } != mailbox
            }
        }
    }
}

extension Failure {
    fileprivate static let nothingCounts = Failure(
        .factorNotOffered,
        "None of the second factors of this account counts here. Ask those who run the app to help you."
    )
    fileprivate static let doesNotCount = Failure(
        .secondFactorInvalid,
        "This second factor does not count here. Use another one."
    )
}
