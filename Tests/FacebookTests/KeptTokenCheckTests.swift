import Domain
import Encodings
@testable import Facebook
import Providers
import Testing

@Suite("What Facebook's answers about a kept token mean")
struct KeptTokenCheckTests {
    private static let now: Int64 = 1_800_000_000
    private static let subject = "10150000000000001"

    /// A verdict on a kept token, without its details.
    enum Meaning: Equatable {
        case stands, standsWithProfile, revoked, invalid, unknown
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
        Row("a token that Facebook does not accept", invalid(.credentialInvalid), .invalid),
        Row("not valid, and no word why", token { $0.isValid = false }, .invalid),
        Row("463", invalid(.credentialExpired), .invalid),
        Row("its time is over", token { $0.expiresAt = now }, .invalid),
        Row("the access to data is over", token { $0.dataAccessExpiresAt = now - 1 }, .stands),
        Row("the access to data is over, with a profile", token { $0.dataAccessExpiresAt = now - 1 }, ann, .stands),
        Row("both are over", token { ($0.expiresAt, $0.dataAccessExpiresAt) = (now - 1, now - 1) }, .invalid),
        Row("no token of a person", token { $0.type = "PAGE" }, .invalid),
        Row("what nobody can read", invalid(.credentialWrongKind), .invalid),
        Row("another app's, by its id", token { $0.appID = "43" }, .invalid),
        Row("another app's, as Graph says", .otherApp, .invalid),
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
        let check = KeptTokenCheck(
            identity: IdentityKey(
                provider: .facebook,
                app: try #require(ProviderAppID("42")),
                subject: try #require(Subject(Self.subject))
            ),
            app: ProviderApp(id: try #require(ProviderAppID("42")), secret: Secret("secret")),
            now: Self.now
        )
        let verdict = check.verdict(on: row.inspection, row.profile)
        let meaning: Meaning =
            switch verdict {
            case .stands(_, .profile): .standsWithProfile
            case .stands: .stands
            case .revoked: .revoked
            case .invalid: .invalid
            case .unknown: .unknown
            }
        #expect(meaning == row.meaning)
    }
}
