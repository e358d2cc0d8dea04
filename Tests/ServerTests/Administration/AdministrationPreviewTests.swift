import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The preview of a mapping",
    .serialized,
    .deployed(
        Document(
            properties: """
                {"nick": {"type": "STRING", "clientMappable": true}, "birthday": {"type": "DATE"}, "age": {"type": "INT"},
                 "city": {"type": "STRING"}, "greeting": {"type": "STRING"}}
                """,
            mapping: """
                [{"from": "first_name", "to": "nick", "sync": "firstLogin"}, {"from": "birthday", "to": "birthday"},
                 {"from": "age_range.min", "to": "age"}, {"from": "location.name", "to": "city", "default": "nowhere"},
                 {"from": "Hello {first_name}", "to": "greeting"}]
                """
        ),
        // The tests check that no row is written, and the login log is written at any time.
        environment: ["FEDERATION_LOGIN_LOG_DAYS": "0"]
    )
)
struct AdministrationPreviewTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func preview(_ json: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSONObject {
        let path = "applications/demo/mappings/facebook/preview"
        let reply = try await deployment.admin(.editor).send("POST", path, json)
        try #require(reply.status == 200, "\(reply.text)", sourceLocation: sourceLocation)
        return try #require(JSON.object(reply.text), sourceLocation: sourceLocation)
    }

    /// Returns the entry of a preview that writes a property.
    private func entry(_ property: String, of preview: JSONObject) throws -> JSONObject {
        let entries = try #require(preview["entries"]?.array).compactMap(\.object)
        return try #require(entries.first { $0["to"]?.string == property }, "\(property) in \(entries)")
    }

    /// Returns the place and transaction of each row, which also reveal a row rewritten with the same contents.
    private func versions() async throws -> [[String?]] {
        let tables = try await deployment.database.psql(
            """
            select format('%I.%I', schemaname, tablename) from pg_tables
            where schemaname in ('federation', 'demo') and tablename not in ('operator_tokens', 'audit_log') order by 1
            """
        )
        let names = tables.compactMap { $0.first.flatMap(\.self) }
        try #require(names.count > 10)
        return try await deployment.database.psql(
            names.map { "select '\($0)', count(*), string_agg(xmin || ' ' || ctid, ',' order by ctid) from \($0)" }
                .joined(separator: " union all ") + " order by 1"
        )
    }

    @Test("it says of each entry what would be written and why, and writes nothing but who has asked about whom")
    func writesNothing() async throws {
        let ann = try await deployment.newcomer(#"{"first_name": "Ann", "name": "Ann Canary"}"#)
        let user = try await deployment.loggedIn(ann)
        _ = try await deployment.admin(.editor)
        let before = try await versions()
        var previews: [JSONObject] = []
        let entries = try await deployment.audited {
            try await deployment.expectNothingWritten(except: ["federation.operator_tokens", "federation.audit_log"]) {
                let profile = #"{"id": "1", "first_name": "Bo", "birthday": "05/17/1990", "age_range": {"min": 21}}"#
                for rest in [
                    "", #", "user": "\#(user.objectID)""#, #", "fieldsMapping": {"last_name": "nick"}"#,
                    #", "mapping": {"first_name": "greeting"}"#, #", "scopes": ["public_profile"]"#,
                ] {
                    previews.append(try await preview(#"{"profile": \#(profile)\#(rest)}"#))
                }
                previews.append(try await preview(#"{"accessToken": "\#(ann.token)"}"#))
            }
        }
        #expect(try await versions() == before, "no row was written anew")
        #expect(entries.map { $0["action"]?.string } == ["user.preview", "user.preview"], "\(entries)")
        #expect(entries.map { $0["target"]?.string } == [user.objectID, user.objectID], "by the id, and by a token")

        let plain = previews[0]
        #expect(plain["created"]?.bool == true)
        let birthday = try entry("birthday", of: plain)
        #expect(birthday["outcome"]?.string == "written")
        #expect(birthday["value"]?.string == "1990-05-17", "as it would be stored, not as Facebook says it")
        #expect(try entry("age", of: plain)["value"]?.integer == 21)
        let city = try entry("city", of: plain)
        #expect(city["outcome"]?.string == "defaulted")
        #expect(city["value"]?.string == "nowhere")
        #expect(try entry("greeting", of: plain)["value"]?.string == "Hello Bo")

        let existing = previews[1]
        #expect(existing["created"]?.bool == false)
        let nick = try entry("nick", of: existing)
        #expect(nick["outcome"]?.string == "skipped", "firstLogin is over")
        #expect(nick["current"]?.string == "Ann")
        #expect(nick["why"]?.string?.isEmpty == false)

        let both = previews[2]["entries"]?.array?.compactMap(\.object) ?? []
        #expect(Set(both.compactMap { $0["mapping"]?.string }) == ["stored", "client"])
        let candidate = previews[3]["entries"]?.array?.compactMap(\.object) ?? []
        #expect(candidate.compactMap { $0["to"]?.string } == ["greeting"], "the candidate stands in for the stored one")
    }

    @Test("the address that a user logs in with by password stays, as in a login")
    func passwordLogin() async throws {
        let user = try #require(try await deployment.register("kept@example.com")["objectId"]?.string)
        let mapping = #"[{"from": "email", "to": "email"}, {"from": "first_name", "to": "nick"}]"#
        let preview = try await preview(
            """
            {"profile": {"id": "1", "first_name": "Kim", "email": "other@example.com"}, "mapping": \(mapping), "user": "\(user)"}
            """
        )
        let email = try entry("email", of: preview)
        #expect(email["outcome"]?.string == "skipped")
        #expect(email["current"]?.string == "kept@example.com")
        #expect(email["why"]?.string?.contains("login name") == true)
        #expect(try entry("nick", of: preview)["outcome"]?.string == "written")
    }

    @Test("with a live token it asks Facebook, and a permission that is missing is named")
    func liveToken() async throws {
        let cem = try await deployment.newcomer(
            """
            {"first_name": "Cem", "birthday": "12/31/1985",
             "permissions": {"public_profile": "granted", "user_birthday": "declined"}}
            """
        )
        let requests = try await deployment.simulator.requests {
            let preview = try await preview(#"{"accessToken": "\#(cem.token)"}"#)
            #expect(try entry("nick", of: preview)["value"]?.string == "Cem")
            let birthday = try entry("birthday", of: preview)
            #expect(birthday["outcome"]?.string == "missing")
            #expect(birthday["permission"]?.string == "user_birthday")
            let missing = preview["missingPermissions"]?.array?.compactMap(\.string) ?? []
            #expect(missing.contains("user_birthday"))
            #expect(!preview.text.contains(cem.token))
        }
        #expect(Set(requests.map(\.path)) == ["debug_token", "me"], "the token is verified as in a login")
    }

    @Test("a token that no login would take is refused as in a login, and never repeated")
    func badTokens() async throws {
        let stranger = try await deployment.newcomer(kind: "expired")
        let other = try await deployment.newcomer(app: "2345678901")
        let owner = try await deployment.admin()
        try await deployment.expectNothingWritten(except: ["federation.operator_tokens"]) {
            for token in [stranger.token, other.token, "canary canary"] {
                let reply = try await owner.send(
                    "POST",
                    "applications/demo/mappings/facebook/preview",
                    #"{"accessToken": "\#(token)"}"#
                )
                #expect(reply.status == 200 || (400...499).contains(reply.status), "\(reply.status) \(reply.text)")
                if reply.status == 200 {
                    #expect(
                        JSON.object(reply.text)?["refusal"]?.object?["reason"]?.string?.hasPrefix("credential_") == true
                    )
                }
                #expect(!reply.text.lowercased().contains(Canary.mark), "\(reply.text)")
            }
        }
    }

    @Test("a required entry that the profile cannot fill is told as the refusal that the login would get")
    func refusal() async throws {
        let mapping = #"[{"from": "birthday", "to": "birthday", "required": true}]"#
        let without = try await preview(
            #"{"profile": {"id": "1"}, "scopes": ["public_profile"], "mapping": \#(mapping)}"#
        )
        #expect(without["refusal"]?.object?["reason"]?.string == "permission_missing")
        let empty = try await preview(
            #"{"profile": {"id": "1"}, "scopes": ["public_profile", "user_birthday"], "mapping": \#(mapping)}"#
        )
        #expect(empty["refusal"]?.object?["reason"]?.string == "profile_incomplete")
        let odd = try await preview(#"{"profile": {"id": "1", "birthday": "yesterday"}}"#)
        #expect(try entry("birthday", of: odd)["outcome"]?.string == "refused")
        #expect(odd["refusal"]?.object?["reason"]?.string == "value_not_convertible")
    }

    @Test("what is no question is refused with what is wrong")
    func malformed() async throws {
        let user = "00000000-0000-4000-8000-000000000000"
        let path = "applications/demo/mappings/facebook/preview"
        for (json, reasons) in [
            ("{}", ["malformed_request", "document_invalid"]), ("[]", ["malformed_request", "document_invalid"]),
            (#"{"profile": 7}"#, ["malformed_request", "document_invalid"]),
            (#"{"profile": {}, "accessToken": "x"}"#, ["malformed_request", "document_invalid"]),
            (#"{"profile": {"id": "1"}, "user": "\#(user)"}"#, ["not_found"]),
            (#"{"profile": {"id": "1"}, "user": "x"}"#, ["not_found", "malformed_request", "document_invalid"]),
            (#"{"profile": {"id": "1"}, "mapping": {"name": "nothing"}}"#, ["document_invalid"]),
            (#"{"profile": {"id": "1"}, "mapping": {"name": "age"}}"#, ["document_invalid"]),
            (#"{"profile": {"id": "1"}, "fieldsMapping": {"name": "age"}}"#, ["mapping_target_not_allowed"]),
        ] {
            let reply = try await deployment.admin().send("POST", path, json)
            if reply.status == 200 {
                let reason = JSON.object(reply.text)?["refusal"]?.object?["reason"]?.string ?? ""
                #expect(reasons.contains(reason), "\(json): \(reply.text)")
            } else {
                try expectProblem(reply, oneOf: reasons, "\(json)")
            }
        }
    }
}

extension JSONObject {
    /// The object as JSON text.
    var text: String { JSONValue.object(self).text }
}
