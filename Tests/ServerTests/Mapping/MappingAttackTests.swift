import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "A client's mapping writes what the operator allows and nothing else",
    .serialized,
    .deployed(
        Document(
            properties: """
                {"nick": {"type": "STRING", "clientMappable": true}, "Key": {"type": "STRING", "clientMappable": true},
                 "score": {"type": "INT"}, "order": {"type": "STRING", "clientMappable": true},
                 "select": {"type": "STRING", "clientMappable": true}, "user": {"type": "STRING", "clientMappable": true}}
                """,
            mapping: #"[{"from": "email", "to": "email"}, {"from": "age_range.min", "to": "score"}]"#
        )
    )
)
struct MappingAttackTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Sends each mapping with a valid token and expects a refusal with 400 that writes nothing.
    private func expectRefused(
        _ mappings: [String],
        as reasons: [String] = ["mapping_target_not_allowed"],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let visitor = try await deployment.newcomer(#"{"name": "Ann", "email": "ann.canary@example.com"}"#)
        _ = try await deployment.loggedIn(visitor)
        try await deployment.expectNothingWritten(sourceLocation: sourceLocation) {
            for mapping in mappings {
                let reply = try await deployment.login(visitor, mapping: mapping)
                try expectProblem(reply, oneOf: reasons, "\(mapping)", sourceLocation: sourceLocation)
                for word in ["insert", "update ", "select ", "syntax error", "relation", "psql", "pg_"] {
                    let said = reply.text.lowercased().contains(word)
                    #expect(!said, "SQL in the reply: \(reply.text)", sourceLocation: sourceLocation)
                }
            }
        }
    }

    @Test("T-50: system properties are no targets, in whatever case they are spelt")
    func systemProperties() async throws {
        let names = [
            "userStatus", "objectId", "ownerId", "password", "roles", "created", "updated", "lastLogin",
            "socialAccount",
            "accountType", "oAuthIdentities", "blUserLocale", "id", "code", "message", "USERSTATUS", "ObjectID",
            "object_id", "email_verified", "user_status", "social_account", "last_login", "locale", "dynamic",
            "Email_Verified",
        ]
        try await expectRefused(names.map { #"{"name": "\#($0)"}"# })
        try await expectRefused(
            ["user-token", "___class"].map { #"{"name": "\#($0)"}"# },
            as: ["mapping_target_not_allowed", "mapping_invalid"]
        )
    }

    @Test("T-50: a declared property that clients may not map to and an undeclared one are no targets")
    func notForClients() async throws {
        try await expectRefused([#"{"id": "score"}"#, #"{"id": "tenantId"}"#, #"{"name": "nick", "id": "score"}"#])
    }

    @Test("T-51: the id of a user is the server's, whatever the request holds")
    func serverMadeIDs() async throws {
        let visitor = try await deployment.newcomer()
        let reply = try await deployment.login(
            body:
                #"{"accessToken": "\#(visitor.token)", "objectId": "role:admin", "id": "role:admin", "_id": "role:admin"}"#
        )
        let signedIn = try deployment.signedIn(reply)
        #expect(signedIn.objectID.wholeMatch(of: /[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/) != nil)
        try await expectRefused([#"{"name": "objectId"}"#, #"{"name": "OBJECTID"}"#])
    }

    @Test("T-52: names are never spliced into SQL")
    func sqlInNames() async throws {
        let names = [
            #"x"; drop table demo.users;--"#, "a'b", "data->>'x'", "users.password", #""password""#, "PASSWORD",
            "password",
            "nick\"", "nick'", "nick--", "nick,email", "nick/*", "nick;", "nick\\", "nick)", "$1", "%I", "nick::text",
            " nick", "nick ",
        ]
        let reasons = ["mapping_target_not_allowed", "mapping_invalid"]
        try await expectRefused(names.map { #"{"name": \#(JSON.quoted($0))}"# }, as: reasons)
        try await expectRefused(names.map { #"{\#(JSON.quoted($0)): "nick"}"# }, as: ["mapping_invalid"])
        try await expectRefused([#"{"name": "pass\u0077ord"}"#, #"{"k": {"a": 1}, "name": "password"}"#], as: reasons)
    }

    @Test("T-53: a body that says something twice is refused, in whatever spelling")
    func duplicateKeys() async throws {
        let token = try await deployment.newcomer().token
        let bodies = [
            #"{"accessToken": "\#(token)", "fieldsMapping": {"name": "nick"}, "fieldsMapping": {"name": "userStatus"}}"#,
            #"{"accessToken": "\#(token)", "fieldsMapping": {"name": "nick", "name": "userStatus"}}"#,
            #"{"accessToken": "\#(token)", "fieldsMapping": {"name": "nick", "n\u0061me": "userStatus"}}"#,
            #"{"accessToken": "x", "accessToken": "\#(token)"}"#,
            #"{"accessToken": "\#(token)", "access\u0054oken": "x"}"#,
            #"{"accessToken": "\#(token)", "fieldsMapping": "{\"name\": \"nick\", \"name\": \"userStatus\"}"}"#,
        ]
        try await deployment.expectNothingWritten {
            for body in bodies {
                try expectProblem(try await deployment.login(body: body), "malformed_request", "\(body)")
            }
        }
    }

    @Test(
        "T-54: nothing in a mapping or a profile is evaluated: a name that looks like an expression is stored as it is"
    )
    func expressions() async throws {
        for name in ["${7*7}", "{{7*7}}", "%s%n", "{first_name}", "#{7*7}", "<%= 7*7 %>", "$(id)", "`id`"] {
            let visitor = try await deployment.newcomer(#"{"name": \#(JSON.quoted(name)), "first_name": "Ann"}"#)
            let signedIn = try await deployment.loggedIn(visitor, mapping: #"{"name": "nick"}"#)
            #expect(signedIn.user["nick"]?.string == name)
            #expect(try await deployment.row(of: signedIn.objectID)?["nick"]?.string == name)
        }
        let sources = [
            "${7*7}", "{{7*7}}", "{first_name}", "%s", "me/friends", "name.as(x)", "friends.limit(1)", "name,email",
        ]
        try await expectRefused(sources.map { #"{"\#($0)": "nick"}"# }, as: ["mapping_invalid"])
    }

    @Test("T-56: only the same bytes are the same name")
    func lookalikes() async throws {
        let names = [
            "\u{212A}ey", "key", "KEY", "nic\u{212A}", "n\u{131}ck", "nick\u{301}", "\u{FF4E}ick", "nick\u{200B}",
            "nick\u{1FEF}",
        ]
        try await expectRefused(
            names.map { #"{"name": "\#($0)"}"# },
            as: ["mapping_target_not_allowed", "mapping_invalid"]
        )
        // As keys these names are malformed.
        let visitor = try await deployment.newcomer()
        try await deployment.expectNothingWritten {
            let reply = try await deployment.login(visitor, mapping: "{\"na\u{301}me\": \"nick\"}")
            try expectProblem(reply, "malformed_request")
        }
    }

    @Test(
        "T-57: words of SQL, system columns and words of other languages are refused as any unknown name, never with 500"
    )
    func reservedWords() async throws {
        let names = [
            "ctid", "xmin", "tableoid", "oid", "table", "null", "default", "current_user", "__proto__", "constructor",
            "prototype", "toString", "hasOwnProperty",
        ]
        try await expectRefused(
            names.map { #"{"name": "\#($0)"}"# },
            as: ["mapping_target_not_allowed", "mapping_invalid"]
        )
        try await expectRefused(
            [#"{"name": ""}"#, #"{"": "nick"}"#],
            as: ["mapping_target_not_allowed", "mapping_invalid"]
        )
    }

    @Test("T-57: an operator may declare words of SQL as properties")
    func declaredWords() async throws {
        let visitor = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let signedIn = try await deployment.loggedIn(
            visitor,
            mapping: #"{"name": "order", "id": "select", "first_name": "user"}"#
        )
        #expect(signedIn.user["order"]?.string == "Ann")
        #expect(signedIn.user["select"]?.string == visitor.id)
        #expect(signedIn.user["user"] == .null)
    }

    @Test("what is no mapping at all is refused")
    func noMapping() async throws {
        let mappings = [
            "[]", "7", "true", #"{"name": 7}"#, #"{"name": ["nick"]}"#, #"{"name": {"to": "nick"}}"#,
            #"{"name": "nick", "id": "nick"}"#,
            "{\((0..<65).map { #""f\#($0)": "nick""# }.joined(separator: ","))}",
        ]
        try await expectRefused(mappings, as: ["mapping_invalid"])
    }
}
