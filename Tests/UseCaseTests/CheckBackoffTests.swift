@testable import Accounts
import Domain
import Facebook
@testable import Logins
import Store
import Testing

@Suite("When a kept token is asked about again")
struct CheckBackoffTests {
    private static let now: Int64 = 1_800_000_000

    /// The seconds since the last good check, the remaining life of the token, the reason, and the backoff.
    @Test(
        "a check that came to nothing is tried again after pauses that double, up to six hours",
        arguments: [
            (86_400, nil, Failure.Reason.providerTimeout, 60), (86_460, nil, .providerTimeout, 60),
            (86_520, nil, .providerTimeout, 120), (90_000, nil, .providerRateLimited, 3600),
            (900_000, nil, .providerUnavailable, 21_600), (120, 3600, .providerUnavailable, 120),
            (86_400, nil, .providerMisconfigured, 3600), (86_400, nil, .userActionRequired, 86_400),
        ] as [(Int64, Int64?, Failure.Reason, Int64)]
    )
    func backoff(sinceCheck: Int64, life: Int64?, reason: Failure.Reason, seconds: Int64) throws {
        let identity = KeptIdentity(
            key: IdentityKey(
                provider: .facebook,
                app: try #require(ProviderAppID("42")),
                subject: try #require(Subject("10150000000000001"))
            ),
            token: EncryptedToken(
                kind: .access,
                secret: EncryptedSecret(bytes: [], keyID: "key"),
                expiresAt: life.map { Self.now + $0 }
            ),
            checkedAt: Self.now - sinceCheck,
            refreshedAt: 0,
            isDisabled: false
        )
        #expect(CheckBackoff.seconds(after: reason, identity, now: Self.now) == seconds)
    }
}
