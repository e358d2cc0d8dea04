package import Applications
package import Domain
package import Logging
import Logins
import Secrets
import Store

/// Makes an account one with that of a new user, by a link that was mailed to the account's address.
///
/// ``Logins/ClaimOffers`` sends the mail.
package struct MailedClaims: Sendable {
    let store: Store
    let verifier: PasswordVerifier
    let resets: PasswordReset
    let merges: AccountMerges
    let revoker: PermissionRevoker
    let events: EventLog

    /// Makes both accounts one: the new user becomes a part of the account.
    ///
    /// One log line tells the outcome, and a mail to both users has a link that undoes the merge.
    ///
    /// - Parameters:
    ///   - token: The token of the link.
    ///   - password: The account's password, if its address was not confirmed and the reader knows the password. If
    ///     nil, an account with an unconfirmed address loses its password.
    ///   - keepsIdentities: Whether the reader says that the identities of an account with an unconfirmed address are
    ///     their own.
    ///   - answer: The second factor, if the account has one.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Throws: `link_invalid`, `login_invalid`, `too_many_attempts`, `second_factor_required`,
    ///   `second_factor_invalid`, `pending_login_invalid`, `conflict`; the link stays valid after every error but the
    ///   first.
    package func take(
        by token: String,
        password: Secret?,
        keepingIdentities keepsIdentities: Bool,
        showing answer: LinkFactorAnswer,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let pair = try await events.logging("claim", of: loaded, logger, user: \.survivor.user.objectID) {
            () async throws(Failure) in
            let (hash, emailToken) = try await resets.emailToken(by: token, for: .claim, in: loaded)
            guard let newcomer = emailToken.other else { throw Failure.linkInvalid }
            let link = LinkFactors.Link(hash: hash, token: emailToken, purpose: .claim)
            try await resets.factors.require(answer, for: link, in: loaded)
            let known = try await knownPassword(of: emailToken.user, password, from: answer, in: loaded)
            let claim = UserMerge.Claim(
                tokenHash: hash,
                factor: try await resets.factors.check(answer, for: link, in: loaded),
                known: KnownMethods(password: known?.hash, hasIdentities: keepsIdentities)
            )
            do throws(Failure) {
                return try await merges.merge(
                    newcomer,
                    into: emailToken.user,
                    by: MergeRules(general: .sync),
                    provedBy: .claim(claim),
                    in: loaded,
                    by: ChangeAuthor(name: "user:\(emailToken.user)", source: "claim")
                )
            } catch {
                throw error.reason == .notFound ? Failure.linkInvalid : error
            }
        }
        let account = pair.survivor.user.objectID
        _ = await revoker.revokePermissions(
            by: pair.lost,
            formerlyOf: account,
            in: loaded,
            actor: ChangeAuthor(name: "user:\(account)", source: "claim")
        )
    }

    /// Ends the offer, because the reader is not the new user.
    ///
    /// - Throws: `link_invalid`.
    package func refuse(by token: String, in loaded: LoadedApplication, logger: Logger) async throws(Failure) {
        guard let hash = OneTimeToken(received: token)?.hash,
            let refused = try await store.refuseClaim(byLink: hash, in: loaded.application)
        else { throw .linkInvalid }
        logger.notice(
            "claim refused",
            metadata: [
                "application": "\(loaded.application.id)", "user": "\(refused.account)",
                "newcomer": "\(refused.newcomer)",
            ]
        )
    }

    private func knownPassword(
        of user: ObjectID,
        _ password: Secret?,
        from answer: LinkFactorAnswer,
        in loaded: LoadedApplication
    ) async throws(Failure) -> StoredPassword? {
        guard let password, let stored = try await store.password(of: user, in: loaded.application) else { return nil }
        let matched = try await verifier.match(password, stored, from: answer.source, in: loaded.application)
        guard let matched else {
            throw Failure(
                .loginInvalid,
                "This is not the password of the account. If you did not choose it or have forgotten it, leave it out."
            )
        }
        return matched
    }
}
