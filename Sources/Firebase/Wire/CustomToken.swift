import Accounts
import Applications
import Domain
import Encodings

/// A token of a service account by which a client logs in as a user (docs/protocols/firebase.md §10).
struct CustomToken {
    let account: ServiceAccount
    let uid: String
    /// The claims for the tokens of the session, as JSON text; nil for none.
    let claims: String?

    /// The audience of custom tokens.
    ///
    /// No other token of a service account has this audience.
    private static let audience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"

    /// Verifies a token.
    ///
    /// - Throws: `INVALID_CUSTOM_TOKEN`; `CREDENTIAL_MISMATCH` for the token of another application's service account;
    ///   `CLAIMS_TOO_LARGE`, `FORBIDDEN_CLAIM`; `store_unavailable` and similar errors.
    init(
        _ text: String,
        in application: ServedApplication,
        by accounts: ServiceAccounts
    ) async throws(Failure) {
        guard let (account, claims) = try await accounts.signed(Secret(text)) else { throw Self.invalid }
        guard account.application == application.loaded.application.id else {
            throw .google("CREDENTIAL_MISMATCH", "A service account of another project has signed this token.")
        }
        func has(_ name: String, _ value: String) -> Bool { claims[name]?.string?.hasSameBytes(as: value) == true }
        guard has("iss", account.email), has("sub", account.email), has("aud", Self.audience),
            accounts.isCurrent(claims), claims["tenant_id"] == nil,
            let uid = claims["uid"]?.string, FirebaseUID(uid) != nil
        else { throw Self.invalid }
        self.account = account
        self.uid = uid
        switch claims["claims"] {
        case nil, .null?: self.claims = nil
        case .object(let given)?: self.claims = try CustomClaims.checked(given)
        case _?: throw Self.invalid
        }
    }

    private static let invalid = Failure.google(
        "INVALID_CUSTOM_TOKEN",
        "No service account of this project has signed this token, or it is not valid now."
    )
}
