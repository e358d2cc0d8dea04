import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Mapped values from Facebook to the row and the reply",
    .serialized,
    .deployed(
        Document(
            properties: """
                {"givenName": {"type": "STRING"}, "initials": {"type": "STRING"}, "birthday": {"type": "DATE"},
                 "sex": {"type": "STRING"}, "age": {"type": "INT"}, "adult": {"type": "BOOLEAN"}, "ratio": {"type": "DOUBLE"},
                 "joined": {"type": "DATETIME"}, "home": {"type": "STRING"}, "picture": {"type": "JSON"},
                 "oldest": {"type": "INT"}, "youngest": {"type": "INT"},
                 "friends": {"type": "STRING"}, "label": {"type": "STRING"}}
                """,
            mapping: """
                [{"from": "email", "to": "email", "transform": ["trim", "lowercase"]},
                 {"from": "{first_name} {middle_name} {last_name}", "to": "name"},
                 {"from": "first_name", "to": "givenName", "transform": "uppercase"},
                 {"from": "birthday", "to": "birthday"},
                 {"from": "gender", "to": "sex", "transform": {"lookup": {"female": "F", "male": "M"}, "else": "X"}},
                 {"from": "age_range.min", "to": "age"},
                 {"from": "age_range.min", "to": "youngest", "sync": "untilEdited"},
                 {"from": "age_range.max", "to": "oldest", "sync": "untilEdited"}, {"from": "adult", "to": "adult"},
                 {"from": "ratio", "to": "ratio"}, {"from": "joined", "to": "joined"},
                 {"from": "location.name", "to": "home", "default": "unknown"},
                 {"from": "tags", "to": "picture"},
                 {"from": "tags", "to": "friends", "transform": {"join": ", "}},
                 {"from": "Facebook user {id}", "to": "label"}]
                """
        ),
        Document(
            application: "strict",
            mapping: #"[{"from": "email", "to": "email", "required": true}]"#
        ),
        Document(
            application: "column",
            properties: #"{"nick": {"type": "STRING", "required": true}}"#,
            mapping: #"[{"from": "short_name", "to": "nick", "required": true}]"#
        )
    )
)
struct MappedValueTests {
    let deployment: Deployment

    init() async throws {
        deployment = try Deployment.current
        // The simulator accepts fields that Facebook lacks once a user has them.
        try await deployment.simulator.put(person: "exemplar", Self.exemplar)
    }

    private static let exemplar = #"{"extra": {"adult": false, "ratio": 1, "joined": "2017-05-06", "tags": []}}"#

    private static let permissions = """
        "permissions": {"public_profile": "granted", "email": "granted", "user_birthday": "granted", "user_gender": "granted",
                        "user_age_range": "granted", "user_location": "granted"}
        """

    @Test("an age range that moves from 18 to 20 to 21 and more leaves no 20 behind, and what somebody edited stays")
    func ageRange() async throws {
        let ann = try await deployment.newcomer(#"{"age_range": {"min": 18, "max": 20}, \#(Self.permissions)}"#)
        let first = try await deployment.loggedIn(ann)
        #expect(first.user["oldest"]?.integer == 20)
        try await deployment.simulator.patch(person: ann.key, #"{"age_range": {"max": null, "min": 21}}"#)
        let second = try await deployment.loggedIn(ann)
        #expect(second.user["age"]?.integer == 21)
        #expect(second.user["youngest"]?.integer == 21)
        #expect(second.user["oldest"] == .null)
        #expect(try await deployment.row(of: first.objectID)?["oldest"] == .null)
        try await deployment.simulator.patch(person: ann.key, #"{"age_range": {"min": 18, "max": 20}}"#)
        #expect(try await deployment.loggedIn(ann).user["oldest"]?.integer == 20)
        _ = try await deployment.database.psql(
            "update demo.users set oldest = 19 where object_id = '\(first.objectID)'"
        )
        try await deployment.simulator.patch(person: ann.key, #"{"age_range": {"max": null, "min": 21}}"#)
        #expect(try await deployment.loggedIn(ann).user["oldest"]?.integer == 19)
        // Without the permission the range is unknown.
        try await deployment.simulator.patch(person: ann.key, #"{"permissions": {"user_age_range": "declined"}}"#)
        #expect(try await deployment.loggedIn(ann).user["age"]?.integer == 21)
    }

    @Test("every type, template, transform and default arrives in the typed column and in the reply")
    func values() async throws {
        let ann = try await deployment.newcomer(
            """
            {"email": " Ann.Canary@Example.com ", "first_name": "Ann", "last_name": "Müller 東京", "birthday": "05/17/1990",
             "gender": "female", "age_range": {"min": 21}, \(Self.permissions),
             "extra": {"adult": true, "ratio": 2.5, "joined": "2017-05-06T09:08:09+0200", "tags": ["a", "b"]}}
            """
        )
        let signedIn = try await deployment.loggedIn(ann)

        let columns: KeyValuePairs = [
            "email": #""ann.canary@example.com""#, "name": #""Ann Müller 東京""#, "givenName": #""ANN""#,
            "birthday": #""1990-05-17""#, "sex": #""F""#, "age": "21", "adult": "true", "ratio": "2.5",
            "home": #""unknown""#,
            "picture": #"["a", "b"]"#, "friends": #""a, b""#, "label": #""Facebook user \#(ann.id)""#,
        ]
        let row = try #require(try await deployment.row(of: signedIn.objectID))
        for (property, value) in columns {
            #expect(signedIn.user[property] == JSON.value(value), "\(property)")
            #expect(row[property] == JSON.value(value), "\(property)")
        }
        #expect(signedIn.user["joined"]?.integer == 1_494_054_489_000, "DATETIME is milliseconds in replies")
        let seconds = try await deployment.value(
            "select extract(epoch from joined)::bigint from demo.users where object_id = '\(signedIn.objectID)'"
        )
        #expect(seconds == "1494054489")
    }

    @Test("a partial birthday leaves a DATE untouched: nothing is invented")
    func partialBirthday() async throws {
        let ann = try await deployment.newcomer(#"{"birthday": "05/17", \#(Self.permissions)}"#)
        let signedIn = try await deployment.loggedIn(ann)
        #expect(signedIn.user["birthday"] == .null)
    }

    @Test("the reply names the permissions whose absence left properties unfilled")
    func missingPermissions() async throws {
        let ann = try await deployment.newcomer(
            #"{"email": "ann.canary@example.com", "birthday": "05/17/1990"}"#,
            scopes: ["email"]
        )
        let signedIn = try await deployment.loggedIn(ann)
        #expect(signedIn.user["birthday"] == .null)
        let missing = signedIn.reply.header("Federation-Missing-Permissions") ?? ""
        let names = Set(missing.split(separator: ", ").map(String.init))
        #expect(names.contains("user_birthday") && names.contains("user_gender"), "\(missing)")
        #expect(!names.contains("email") && !names.contains("public_profile"), "\(missing)")
    }

    @Test(
        "a required value: without the permission that is named, with it the profile is incomplete, and then it logs in"
    )
    func required() async throws {
        let strict = deployment.documents[1]
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com"}"#, scopes: [])
        try await deployment.expectNothingWritten {
            let data = try expectProblem(try await deployment.login(ann, to: strict), "permission_missing")
            #expect(data["permission"]?.string == "email" && data["field"]?.string == "email")
            let limited = try await deployment.login(
                idToken: try await deployment.idToken(of: ann, #""scopes": []"#),
                to: strict
            )
            #expect(try expectProblem(limited, "permission_missing")["permission"]?.string == "email")
        }
        let phone = try await deployment.newcomer("{}", scopes: ["email"])
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(phone, to: strict), "profile_incomplete")
        }
        try await deployment.simulator.patch(person: phone.key, #"{"email": "phone.canary@example.com"}"#)
        #expect(try await deployment.loggedIn(phone, to: strict).created)
    }

    @Test("a required property is a column that is never NULL")
    func requiredColumn() async throws {
        let column = deployment.documents[2]
        let ann = try await deployment.newcomer("{}")
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(ann, to: column), "profile_incomplete")
        }
        let nullable = try await deployment.value(
            "select is_nullable from information_schema.columns where table_schema = 'column' and column_name = 'nick'"
        )
        #expect(nullable == "NO")
        try await deployment.simulator.patch(person: ann.key, #"{"short_name": "Annie"}"#)
        #expect(try await deployment.loggedIn(ann, to: column).user["nick"]?.string == "Annie")
    }
}
