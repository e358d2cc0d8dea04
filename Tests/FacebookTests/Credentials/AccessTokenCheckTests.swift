import Domain
import Encodings
@testable import Facebook
import Testing

@Suite("Judging an access token (decision D2)")
struct AccessTokenCheckTests {
    static let now: Int64 = 1_795_000_000

    @Test("a token counts when debug_token, /me and the app agree")
    func accepted() throws {
        let verdict = try judge(.good())
        guard case .accepted(let person) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(person.identity.app.text == "123456789")
        #expect(person.identity.subject.text == "10150000000000001")
        #expect(person.profile["name"] == .string("Ann"))
        #expect(person.scopes == ["public_profile", "email"])
        #expect(person.dataAccessExpiresAt == Self.now + 100)
    }

    @Test("T-01: a token that debug_token gives to another app is not ours, whether by error or by app_id")
    func otherApp() throws {
        #expect(try judge(.otherApp).word == "other app")
        #expect(try judge(.good { $0.appID = "987654321" }).word == "other app")
        #expect(try judge(.otherApp, .failed(Failure(.providerMisconfigured, "proof"))).word == "other app")
        #expect(try judge(.otherApp, .failed(Failure(.providerTimeout, "late"))).word == "other app")
        #expect(
            try judge(.good { $0.appID = "987654321" }, .failed(Failure(.credentialInvalid, "no"))).word == "other app"
        )
    }

    @Test("T-02: an app without a secret verifies nothing")
    func noSecret() throws {
        #expect(try judge(.good(), secret: "").word == "provider_misconfigured")
    }

    @Test(
        "T-03: an app id that only resembles ours is another app's",
        arguments: [
            "3456", "12345678", "1234567890", "0123456789", " 123456789", "123456789 ", "123456789.0", "1.23456789e8",
            "123456789\u{0}", "123456789\u{0301}", "１２３４５６７８９", "",
        ]
    )
    func resemblingApp(id: String) throws {
        #expect(try judge(.good { $0.appID = id }).word == "other app")
    }

    /// Every combination of the conditions of D2, each met or broken in one way.
    @Test("T-16: every condition alone and all together refuse", arguments: 0..<128)
    func truthTable(broken: Int) throws {
        let inspection = AccessTokenEvidence.Inspection.good { token in
            if broken & 1 != 0 { token.appID = "987654321" }
            if broken & 2 != 0 { token.expiresAt = Self.now - 1 }
            if broken & 4 != 0 { token.isValid = false }
            if broken & 8 != 0 { token.type = "PAGE" }
            if broken & 16 != 0 { token.dataAccessExpiresAt = Self.now - 1 }
            if broken & 32 != 0 { token.userID = "10150000000000002" }
            if broken & 64 != 0 { token.refusal = Failure(.credentialRevoked, "revoked") }
        }
        let expected =
            switch broken {
            case 0: "accepted"
            case _ where broken & 1 != 0: "other app"
            case _ where broken & 8 != 0: "credential_wrong_kind"
            case _ where broken & 64 != 0: "credential_revoked"
            case _ where broken & 2 != 0: "credential_expired"
            case _ where broken & 4 != 0: "credential_invalid"
            case _ where broken & 16 != 0: "credential_expired"
            default: "credential_invalid"
            }
        #expect(try judge(inspection).word == expected)
    }

    @Test(
        "T-17: only a token of type USER counts",
        arguments: ["PAGE", "APP", "SYSTEM_USER", "user", "User", "USER ", "", "USER\u{0301}", "ＵＳＥＲ"]
    )
    func types(type: String) throws {
        #expect(try judge(.good { $0.type = type }).word == "credential_wrong_kind")
        #expect(
            try judge(.good { $0.type = type }, .failed(Failure(.providerTimeout, "late"))).word
                == "credential_wrong_kind"
        )
    }

    @Test("T-17: an app token, which has no user, is of the wrong kind")
    func appToken() throws {
        let token = TokenInspection(isValid: true, type: "APP", appID: "123456789")
        #expect(try judge(.token(token)).word == "credential_wrong_kind")
    }

    @Test("a valid token of which the reply leaves out what it is does not count")
    func incomplete() throws {
        #expect(try judge(.good { $0.appID = nil }).word == "provider_bad_reply")
        #expect(try judge(.good { $0.type = nil }).word == "provider_bad_reply")
        #expect(try judge(.good { $0.userID = nil }).word == "provider_bad_reply")
    }

    @Test("an undecodable token is refused in Graph's words")
    func undecodable() throws {
        let token = TokenInspection(isValid: false, refusal: Failure(.credentialWrongKind, "shim"))
        #expect(try judge(.token(token), .failed(Failure(.credentialInvalid, "190"))).word == "credential_wrong_kind")
        #expect(try judge(.token(TokenInspection(isValid: false))).word == "credential_invalid")
    }

    @Test(
        "T-40: a user id is decimal text and compared as bytes",
        arguments: [
            ("10", "10", "accepted"), ("10", "010", "provider_bad_reply"), ("010", "10", "provider_bad_reply"),
            ("0", "0", "provider_bad_reply"), ("00", "00", "provider_bad_reply"), ("10", "0", "provider_bad_reply"),
            ("10", "10.0", "provider_bad_reply"), ("10.0", "10", "provider_bad_reply"),
            ("10.0", "10.0", "provider_bad_reply"), ("10", "11", "credential_invalid"),
            ("10", "", "provider_bad_reply"),
            ("", "", "provider_bad_reply"), ("-10", "-10", "provider_bad_reply"), (" 10", " 10", "provider_bad_reply"),
            ("１０", "１０", "provider_bad_reply"), ("10\u{0301}", "10\u{0301}", "provider_bad_reply"),
        ]
    )
    func userIDs(inspected: String, fetched: String, expected: String) throws {
        let verdict = try judge(.good { $0.userID = inspected }, .user(["id": .string(fetched)]))
        #expect(verdict.word == expected)
    }

    @Test(
        "a profile without an id as text does not count",
        arguments: [[:], ["id": .null], ["id": .integer(10)], ["id": .array([.string("x")])], ["ID": .string("10")]]
            as [JSONObject]
    )
    func profileWithoutID(profile: JSONObject) throws {
        #expect(try judge(.good { $0.userID = "10" }, .user(profile)).word == "provider_bad_reply")
    }

    @Test(
        "an end is over from its second on; 0 and absence are no end",
        arguments: [
            (nil, true), (0, true), (now + 1, true), (now, false), (now - 1, false), (1, false), (-1, false),
            (Int64.max, true), (Int64.min, false),
        ] as [(Int64?, Bool)]
    )
    func ends(end: Int64?, lives: Bool) throws {
        let word = lives ? "accepted" : "credential_expired"
        #expect(try judge(.good { $0.expiresAt = end }).word == word)
        #expect(try judge(.good { $0.dataAccessExpiresAt = end }).word == word)
    }

    @Test("F-29d: our clock alone neither revives a token that Facebook calls dead nor is it ignored")
    func clock() throws {
        let dead = AccessTokenEvidence.Inspection.good {
            $0.isValid = false
            $0.expiresAt = Self.now
            $0.refusal = Failure(.credentialExpired, "463")
        }
        for skew: Int64 in [-172_800, -600, 0, 600, 172_800] {
            #expect(try judge(dead, now: Self.now + skew).word == "credential_expired")
        }
        let hour = AccessTokenEvidence.Inspection.good {
            $0.expiresAt = Self.now + 3600; $0.dataAccessExpiresAt = 0
        }
        #expect(try judge(hour, now: Self.now + 600).word == "accepted")
        #expect(try judge(hour, now: Self.now + 172_800).word == "credential_expired")
    }

    @Test("a data access end says that it is data access which ended, and nil stands for never")
    func dataAccess() throws {
        let verdict = try judge(.good { $0.dataAccessExpiresAt = Self.now })
        guard case .refused(let failure) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(failure.message.contains("data access"))
        let never = try judge(.good { $0.dataAccessExpiresAt = 0 })
        guard case .accepted(let person) = never else {
            Issue.record("\(never)")
            return
        }
        #expect(person.dataAccessExpiresAt == nil)
    }

    @Test("F-13: with a good debug_token, whatever /me failed with is the outcome", arguments: Failure.Reason.allCases)
    func profileFailed(reason: Failure.Reason) throws {
        #expect(try judge(.good(), .failed(Failure(reason, "/me"))).word == reason.rawValue)
    }

    @Test("F-13: with a good /me, whatever debug_token failed with is the outcome", arguments: Failure.Reason.allCases)
    func inspectionFailed(reason: Failure.Reason) throws {
        #expect(try judge(.failed(Failure(reason, "debug_token"))).word == reason.rawValue)
    }

    static let verdicts: [Failure.Reason] = [
        .credentialInvalid, .credentialExpired, .credentialRevoked, .credentialWrongKind, .userActionRequired,
        .permissionMissing, .mappingInvalid,
    ]
    static let temporary: [Failure.Reason] = [
        .providerUnavailable, .providerTimeout, .providerBadReply, .providerRateLimited, .overloaded,
    ]

    /// The failure of `/me` counts only when `debug_token` failed temporarily and `/me` returned a final verdict.
    @Test("of two failures the weightier one is told", arguments: Failure.Reason.allCases)
    func bothFailed(inspection: Failure.Reason) throws {
        for profile in Failure.Reason.allCases {
            let verdict = try judge(.failed(Failure(inspection, "debug_token")), .failed(Failure(profile, "/me")))
            let profileWins = Self.temporary.contains(inspection) && Self.verdicts.contains(profile)
            #expect(verdict.word == (profileWins ? profile : inspection).rawValue, "/me: \(profile)")
        }
    }

    @Test("a refused proof accuses the operator only when debug_token has called the token ours")
    func proof() throws {
        let proof = Failure(.providerMisconfigured, "proof")
        #expect(try judge(.good(), .failed(proof)).word == "provider_misconfigured")
        #expect(try judge(.otherApp, .failed(proof)).word == "other app")
        #expect(try judge(.failed(Failure(.providerTimeout, "late")), .failed(proof)).word == "provider_timeout")
        #expect(try judge(.good { $0.isValid = false }, .failed(proof)).word == "credential_invalid")
    }

    private func judge(
        _ inspection: AccessTokenEvidence.Inspection,
        _ profile: AccessTokenEvidence.Profile = .user(["name": .string("Ann"), "id": .string("10150000000000001")]),
        secret: String = "s",
        now: Int64 = now
    ) throws -> AccessTokenCheck.Verdict {
        AccessTokenCheck.verify(
            evidence: AccessTokenEvidence(inspection: inspection, profile: profile),
            app: ProviderApp(id: try #require(ProviderAppID("123456789")), secret: Secret(secret)),
            of: .facebook,
            now: now
        )
    }
}

extension AccessTokenEvidence.Inspection {
    /// Returns a valid token, after a change.
    fileprivate static func good(_ change: (inout TokenInspection) -> Void = { _ in }) -> AccessTokenEvidence.Inspection
    {
        var token = TokenInspection(
            isValid: true,
            type: "USER",
            appID: "123456789",
            userID: "10150000000000001",
            expiresAt: AccessTokenCheckTests.now + 100,
            dataAccessExpiresAt: AccessTokenCheckTests.now + 100,
            scopes: ["public_profile", "email"]
        )
        change(&token)
        return .token(token)
    }
}

extension AccessTokenCheck.Verdict {
    fileprivate var word: String {
        switch self {
        case .accepted: "accepted"
        case .otherApp: "other app"
        case .refused(let failure): failure.reason.rawValue
        }
    }
}
