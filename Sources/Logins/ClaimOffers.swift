import Applications
import Domain
import Limiting
package import Logging
package import Messaging
package import Store

/// Offers an account to a new user who may already have had it, by a mail to the account's address.
///
/// A first login by a provider creates a user, even if the provider gave the e-mail address of an account: an equal
/// address opens no account (decision D6). The reader of that mailbox can then make both accounts one. The login gets
/// its response first, so neither the response nor its duration shows whether an account has the address.
package struct ClaimOffers: Sendable {
    let store: Store
    let links: MailedLinks
    let logger: Logger
    /// Limits the number of offers that this instance prepares at the same time.
    private let atOnce = ConcurrencyLimit<ApplicationID>(limit: 64)

    package init(store: Store, links: MailedLinks, logger: Logger) {
        self.store = store
        self.links = links
        self.logger = logger
    }

    /// Prepares an offer in the background, if the application makes offers and an account has the new user's address.
    ///
    /// If this instance prepares too many offers already, this one is not made.
    ///
    /// - Parameters:
    ///   - newcomer: The user whom a login has just created.
    ///   - provider: The provider of the login.
    ///   - loaded: The application.
    func offer(to newcomer: User, of provider: ProviderName, in loaded: LoadedApplication) {
        let claims = loaded.application.settings.accountClaims
        guard claims != .off, let email = newcomer.email, atOnce.enter(loaded.application.id) else { return }
        Task {
            defer { atOnce.leave(loaded.application.id) }
            var outcome = "nobody"
            do throws(Failure) {
                let user = try await store.claimableUser(
                    withAddress: email,
                    of: newcomer.objectID,
                    before: claims == .imported ? loaded.created : nil,
                    in: loaded.application
                )
                if let user {
                    try await links.mailClaim(
                        of: user,
                        by: newcomer.objectID,
                        at: loaded.title(of: provider),
                        in: loaded
                    )
                    outcome = "mailed"
                }
            } catch {
                outcome = error.reason.rawValue
            }
            logger.notice(
                "claim offered",
                metadata: [
                    "application": "\(loaded.application.id)", "user": "\(newcomer.objectID)", "outcome": "\(outcome)",
                ]
            )
        }
    }
}
