import Applications
package import Domain
package import Encodings
package import Factors
package import Logins
package import Messaging
import Secrets
package import Store

/// What the page of a mailed link shows to ask for a second factor, if the link sets a password.
package struct LinkFactorQuestion: Sendable {
    /// The encrypted pending operation, which the client sends back with the factor.
    package let pending: Secret
    package let factor: Factor
    /// The masked e-mail address or phone number to which a code was sent.
    package let sentTo: String?
    /// The options for the browser's request to use a passkey (PublicKeyCredentialRequestOptions); nil without a
    /// passkey.
    package let publicKey: JSONObject?
    package let others: [Factor]
}

/// The user's choice of a second factor, on the page of a mailed link.
package struct LinkFactorRequest: Sendable {
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

/// A second factor that a client sends together with the new password that a mailed link sets.
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

    /// The second factor; nil in the first request, before the client knows that a factor is required.
    let shown: Shown?
    let keyLabel: String?
    let source: RequestSource

    package init(_ shown: Shown?, keyLabel: String?, source: RequestSource) {
        self.shown = shown
        self.keyLabel = keyLabel
        self.source = source
    }
}

/// Requires and checks a second factor before a mailed link sets a new password.
///
/// Without this check, anyone with access to the mailbox could open an account that has a second factor. The type is a
/// class: with a struct, the frame of each function that waits for a provider would contain a copy.
package final class LinkFactors: Sendable {
    let store: Store
    let pendings: PendingLogins
    let checks: FactorChecks
    let hints: FactorHints

    package init(store: Store, pendings: PendingLogins, checks: FactorChecks, hints: FactorHints) {
        self.store = store
        self.pendings = pendings
        self.checks = checks
        self.hints = hints
    }

    /// Returns what the page of a mailed link shows to ask for a second factor; nil if the link requires none.
    ///
    /// - Throws: `factor_not_offered` if no valid factor can be used; the errors of sending a code.
    func question(
        of link: Link,
        _ wish: LinkFactorRequest?,
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

    /// Throws an error if a mailed link requires a second factor and the request has none.
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
            """
            This account needs a second factor. Send it with the new password. If this app does not ask for it, open \
            the link in a browser.
            """,
            details: pendings.details(of: pending, factors, in: loaded.application)
        )
    }

    /// Checks the second factor of a request; returns nil if the request has none or the link requires none.
    ///
    /// - Throws: `second_factor_invalid`, `pending_login_invalid`, `too_many_attempts`.
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

    /// A mailed link that a user has opened.
    struct Link {
        let hash: [UInt8]
        let token: EmailToken
        let purpose: EmailTokenPurpose
    }

    /// Returns the factors that a user may present to set a password by a mailed link; nil if the link requires no
    /// factor.
    ///
    /// The link has already shown that the user has access to its mailbox. So a code to that mailbox is no factor.
    private func factors(of link: Link, in application: Application) async throws(Failure) -> [StoredFactor]? {
        let factors = try await store.factors(ofLink: link.hash, for: link.purpose, in: application)
        return factors.map { checks.usable($0, besidesMailbox: link.token.email, in: application) }
    }
}

extension Failure {
    fileprivate static let nothingCounts = Failure(
        .factorNotOffered,
        "No second factor of this account is accepted here. Contact the operator of the app."
    )
    fileprivate static let doesNotCount = Failure(
        .secondFactorInvalid,
        "This second factor is not accepted here. Use another one."
    )
}
