import Domain
import Encodings
@testable import Facebook
import SignedTokens
import Testing

@Suite("The claims of an ID token as Graph's fields")
struct IDTokenProfileTests {
    private func profile(_ claims: String) throws -> IDTokenProfile {
        let object = try #require(try JSONParser.parse(claims, limits: .request).object)
        return IDTokenProfile(claims: object, subject: try #require(Subject("1")))
    }

    /// Returns the verified user of an ID token with this subject.
    private func person(_ subject: JSONValue?) throws -> VerifiedIdentity {
        try VerifiedIdentity(
            AcceptedIDToken(
                claims: JSONObject(subject.map { [JSONObject.Member("sub", $0)] } ?? []),
                app: try #require(ProviderAppID("42")),
                expiry: 7,
                digest: [],
                issued: 1,
                end: 8,
                serverNonce: nil
            ),
            of: .facebook
        )
    }

    @Test("the person is known by the app that the token was made for, and permissions are only guessed at")
    func person() throws {
        let person = try person(.string("10150000000000001"))
        #expect(person.identity.app.text == "42" && person.identity.subject.text == "10150000000000001")
        #expect(!person.scopesAreListed && person.credentialExpiresAt == 7)
    }

    @Test("T-40: the subject is decimal text, and never 0 (check 14)")
    func subject() throws {
        for value in [
            nil, .null, .string(""), .string("0"), .string("01"), .string("1.5"), .string("-1"), .string("ann"),
            .string("１２"), .integer(1), .array([]), .string(String(repeating: "1", count: 65)),
        ] as [JSONValue?] {
            let failure = #expect(throws: Failure.self, "\(String(describing: value))") { try person(value) }
            #expect(failure?.reason == .credentialInvalid && failure?.cause?.contains("check 14") == true)
        }
    }

    @Test("every claim has the name and the shape of Graph's field")
    func names() throws {
        let profile = try profile(
            """
            {"sub": "1", "iss": "x", "jti": "j", "name": "Ann M", "given_name": "Ann", "middle_name": "B", "family_name": "M",
             "email": "ann@example.com", "picture": "https://a.example/p", "user_birthday": "05/17/1990", "user_gender": "female",
             "user_age_range": {"min": 21, "max": 30, "x": 1}, "user_hometown": {"id": "7", "name": "Bonn"},
             "user_location": {"id": "8", "name": "Berlin, Germany"}, "user_link": "https://a.example/l",
             "user_friends": ["5", "6"], "unknown": {"a": 1}}
            """
        )
        let expected = try JSONParser.parse(
            """
            {"id": "1", "name": "Ann M", "first_name": "Ann", "middle_name": "B", "last_name": "M", "email": "ann@example.com",
             "picture": {"data": {"url": "https://a.example/p"}}, "birthday": "05/17/1990", "gender": "female",
             "age_range": {"min": 21, "max": 30}, "hometown": {"id": "7", "name": "Bonn"},
             "location": {"id": "8", "name": "Berlin, Germany"}, "link": "https://a.example/l",
             "friends": {"data": [{"id": "5"}, {"id": "6"}]}}
            """,
            limits: .request
        )
        #expect(JSONValue.object(profile.fields) == expected)
        #expect(
            Set(profile.scopes) == [
                "public_profile", "email", "user_birthday", "user_gender", "user_age_range", "user_hometown",
                "user_location", "user_link", "user_friends",
            ]
        )
    }

    @Test("a claim of another type is left out, and with it the permission that it would have given away")
    func types() throws {
        let profile = try profile(
            """
            {"name": 1, "given_name": null, "middle_name": "", "family_name": ["M"], "email": {"a": 1}, "picture": {"data": {}},
             "user_birthday": 1990, "user_gender": true, "user_age_range": {"min": "21"}, "user_hometown": "Bonn",
             "user_location": {"id": 8}, "user_link": [], "user_friends": ["5", 6]}
            """
        )
        #expect(profile.fields == ["id": .string("1")])
        #expect(profile.scopes == ["public_profile"])
    }

    @Test("what fits of an object stays")
    func partial() throws {
        let profile = try profile(
            #"{"user_age_range": {"min": 21, "max": 30.5}, "user_location": {"id": 8, "name": "Berlin"}}"#
        )
        #expect(profile.fields["age_range"] == .object(["min": .integer(21)]))
        #expect(profile.fields["location"] == .object(["name": .string("Berlin")]))
        #expect(profile.scopes == ["public_profile", "user_age_range", "user_location"])
    }
}
