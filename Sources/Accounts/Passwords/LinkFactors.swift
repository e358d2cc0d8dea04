import Applications
package import Factors
package import Logins
package import Notifications
import Secrets
package import Store
package import Vocabulary

/// What whoever sets a password by a link is asked besides the mail.
package struct LinkFactorQuestion: Sendable {
    /// What waits, sealed: it comes back with the answer.
    package let pending: Secret
    package let factor: Factor
    /// Where a code was sent, so far as it may be shown.
    package let sentTo: String?
    /// What a browser needs to ask for a passkey.
    package let publicKey: JSONObject?
    package let others: [Factor]
}

/// What somebody wants to be asked for, on the page of a link.
package struct LinkFactorWish: Sendable {
    /// What waits, as the page had it.
    package let pending: String
    package let factor: ObjectID
    /// Whether a code is to be sent.
    package let sends: Bool
    package let source: RequestSource

    package init(pending: String, factor: ObjectID, sends: Bool, source: RequestSource) {
        self.pending = pending
        self.factor = factor
        self.sends = sends
        self.source = source
    }
}

/// A second factor as it is shown with a password that a link sets.
package struct LinkFactorAnswer: Sendable {
    package struct Shown: Sendable {
        /// What waits.
        let pending: String
        /// Which factor it is; nil where a passkey says it.
        let factor: ObjectID?
        let response: FactorResponse

        package init(pending: String, factor: ObjectID?, response: FactorResponse) {
            self.pending = pending
            self.factor = factor
            self.response = response
        }
    }

    /// Nil in the first request, which does not know yet that something is to be shown.
    let shown: Shown?
    let keyLabel: String?
    let source: RequestSource

    package init(_ shown: Shown?, keyLabel: String?, source: RequestSource) {
        self.shown = shown
        self.keyLabel = keyLabel
        self.source = source
    }
}

/// The second factor of whoever sets a password by a link: a mailbox alone gives nobody an account that has one.
///
/// A class, since what waits for a provider would have it in the frame of each function that waits.
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

    /// What the page of a link asks; nil for nothing.
    ///
    /// - Throws: `factor_not_offered` when nothing that counts can be asked for, and what stands in the way of a code.
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

    /// Makes sure that whoever has not shown a factor need not.
    ///
    /// - Throws: `second_factor_required` with what it takes to go on.
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

    /// The factor that was shown; nil where nothing was.
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

    /// A link that came back.
    struct Link {
        let hash: [UInt8]
        let token: EmailToken
        let purpose: EmailTokenPurpose
    }

    /// The factors that count for a link; nil when none is asked for.
    ///
    /// A code by mail does not count where it goes to the mailbox of the link, in whatever spelling of the address: it
    /// would show the same once more.
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
