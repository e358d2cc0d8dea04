/// A valid session with everything that a signed token says about it and its user.
package struct SessionFacts: Sendable {
    package let key: SessionKey
    package var account: AccountFacts
    /// The name of the provider by which the session was opened, or `password` or `passkey`; nil for a guest.
    package let method: String?
    /// Unix seconds at which the user last authenticated; 1970 if a server opened the session.
    package let authenticatedAt: Int64
    /// Unix seconds at which the session was opened.
    package let opened: Int64
    package let factor: FactorKind?
    /// The claims that a server added to the session's tokens, as JSON text; nil for none.
    package let claims: String?

    package var user: User { account.user }

    package init(
        key: SessionKey,
        account: AccountFacts,
        method: String?,
        authenticatedAt: Int64,
        opened: Int64,
        factor: FactorKind?,
        claims: String?
    ) {
        self.key = key
        self.account = account
        self.method = method
        self.authenticatedAt = authenticatedAt
        self.opened = opened
        self.factor = factor
        self.claims = claims
    }
}
