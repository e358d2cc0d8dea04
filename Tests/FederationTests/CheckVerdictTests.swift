import Graph
import Vocabulary
import Store
import Testing

@testable import Federation

@Suite("What Facebook's answers about a kept token mean")
struct CheckVerdictTests {
    private static let now: Int64 = 1_800_000_000
    private static let subject = "10150000000000001"

    /// What is written of an answer.
    enum Meaning: Equatable {
        case stands, standsWithProfile, revoked, worthless, unknown
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let inspection: AccessTokenEvidence.Inspection
        let profile: AccessTokenEvidence.Profile?
        let meaning: Meaning

        init(_ description: String, _ inspection: AccessTokenEvidence.Inspection, _ meaning: Meaning) {
            self.init(description, inspection, nil, meaning)
        }

        init(
            _ description: String,
            _ inspection: AccessTokenEvidence.Inspection,
            _ profile: AccessTokenEvidence.Profile?,
            _ meaning: Meaning
        ) {
            testDescription = description
            self.inspection = inspection
            self.profile = profile
            self.meaning = meaning
        }
    }

    private static func token(_ change: (inout TokenInspection) -> Void = { _ in }) -> AccessTokenEvidence.Inspection {
        var token = TokenInspection(
            isValid: true,
            type: "USER",
            appID: "42",
            userID: subject,
            expiresAt: now + 1000,
            dataAccessExpiresAt: now + 1000,
            scopes: ["email"]
        )
        change(&token)
        return .token(token)
    }

    private static func invalid(_ reason: Failure.Reason) -> AccessTokenEvidence.Inspection {
        token {
            $0.isValid = false
            $0.refusal = Failure(reason, "")
        }
    }

    private static let ann = AccessTokenEvidence.Profile.user(["id": .string(subject), "name": .string("Ann")])

    private static func failed(_ reason: Failure.Reason) -> AccessTokenEvidence.Profile { .failed(Failure(reason, "")) }

    static let rows = [
        Row("a good token", token(), .stands),
        Row("a good token that never ends", token { ($0.expiresAt, $0.dataAccessExpiresAt) = (0, 0) }, .stands),
        Row("a good token and the profile", token(), ann, .standsWithProfile),
        Row("458, 460, 466, 467", invalid(.credentialRevoked), .revoked),
        Row("a token that Facebook does not accept", invalid(.credentialInvalid), .worthless),
        Row("not valid, and no word why", token { $0.isValid = false }, .worthless),
        Row("463", invalid(.credentialExpired), .worthless),
        Row("its time is over", token { $0.expiresAt = now }, .worthless),
        Row("the access to data is over", token { $0.dataAccessExpiresAt = now - 1 }, .stands),
        Row("the access to data is over, with a profile", token { $0.dataAccessExpiresAt = now - 1 }, ann, .stands),
        Row("both are over", token { ($0.expiresAt, $0.dataAccessExpiresAt) = (now - 1, now - 1) }, .worthless),
        Row("no token of a person", token { $0.type = "PAGE" }, .worthless),
        Row("what nobody can read", invalid(.credentialWrongKind), .worthless),
        Row("another app's, by its id", token { $0.appID = "43" }, .worthless),
        Row("another app's, as Graph says", .otherApp, .worthless),
        Row("another person's", token { $0.userID = "10150000000000002" }, .unknown),
        Row("459, 464", invalid(.userActionRequired), .unknown),
        Row("Graph is away", .failed(Failure(.providerUnavailable, "")), .unknown),
        Row("a rate limit", .failed(Failure(.providerRateLimited, "")), .unknown),
        Row("a wrong secret", .failed(Failure(.providerMisconfigured, "")), .unknown),
        Row("a reply that makes no sense", .failed(Failure(.providerBadReply, "")), .unknown),
        Row("a good token whose profile is another person's", token(), .user(["id": .string("7")]), .unknown),
        Row("a good token that is revoked a moment later", token(), failed(.credentialRevoked), .revoked),
        Row("a good token without a profile for now", token(), failed(.providerTimeout), .stands),
        Row("a good token and a field that does not exist", token(), failed(.mappingInvalid), .stands),
        Row("a good token and a permission that lacks", token(), failed(.permissionMissing), .stands),
    ]

    @Test("one meaning for each", arguments: rows)
    func meaning(row: Row) throws {
        let verdict = CheckVerdict(
            inspection: row.inspection,
            profile: row.profile,
            app: ProviderApp(id: try #require(ProviderAppID("42")), secret: Secret("secret")),
            subject: try #require(Subject(Self.subject)),
            now: Self.now
        )
        let meaning: Meaning =
            switch verdict {
            case .stands(_, profile: nil): .stands
            case .stands: .standsWithProfile
            case .revoked: .revoked
            case .worthless: .worthless
            case .unknown: .unknown
            }
        #expect(meaning == row.meaning)
    }

    /// Seconds since the last good check, the life that the token has left, the reason, and the pause.
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
                subject: try #require(Subject(Self.subject))
            ),
            token: SealedToken(
                kind: .access,
                secret: SealedSecret(bytes: [], keyID: "key"),
                expiresAt: life.map { Self.now + $0 }
            ),
            checkedAt: Self.now - sinceCheck,
            refreshedAt: 0,
            isDisabled: false
        )
        #expect(CheckBackoff.seconds(after: reason, identity, now: Self.now) == seconds)
    }
}
