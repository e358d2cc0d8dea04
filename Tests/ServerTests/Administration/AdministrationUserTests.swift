import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "What operators do with users",
    .serialized,
    .deployed(
        Document(
            properties: """
                {"nick": {"type": "STRING"}, "age": {"type": "INT"}, "birthday": {"type": "DATE"}, "height": {"type": "DOUBLE"},
                 "vip": {"type": "BOOLEAN"}, "seen": {"type": "DATETIME"}, "extra": {"type": "JSON"}}
                """,
            mapping: """
                [{"from": "email", "to": "email"}, {"from": "name", "to": "name"},
                 {"from": "first_name", "to": "nick", "sync": "untilEdited"}, {"from": "age_range.min", "to": "age"},
                 {"from": "birthday", "to": "birthday"}]
                """
        )
    )
)
struct AdministrationUserTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let users = "applications/demo/users"

    /// Creates a user with all properties and returns the stored user.
    private func person(_ name: String) async throws -> (visitor: Visitor, user: LoginResult) {
        let visitor = try await deployment.newcomer(
            """
            {"name": "\(name)", "first_name": "\(name.prefix { $0 != " " })", "email": "\(UUID().uuidString).canary@example.com",
             "birthday": "05/17/1990", "age_range": {"min": 21}, "permissions": {"public_profile": "granted",
             "email": "granted", "user_birthday": "granted", "user_age_range": "granted"}}
            """
        )
        return (visitor, try await deployment.loggedIn(visitor))
    }

    private func found(_ query: String) async throws -> [String] {
        try await deployment.admin(.viewer).all("\(Self.users)?\(query)").compactMap { $0["objectId"]?.string }
    }

    @Test("an imported identity logs in as its user, and a body that cannot be read is refused with all problems")
    func importedIdentity() async throws {
        let visitor = try await deployment.newcomer()
        let id = UUID().uuidString
        try await deployment.database.psql(
            "insert into demo.users (object_id, email) values ('\(id)', 'here@example.com')"
        )
        let path = "applications/demo/identityImports"
        let file = #""file": "objectId,subject\n\#(id),\#(visitor.id)\n""#
        let owner = try await deployment.admin(.owner)
        let reply = try await owner.send("POST", path, #"{"provider": "facebook", "app": "1234567890", \#(file)}"#)
        #expect(reply.status == 200 && JSON.object(reply.text)?["imported"]?.integer == 1, "\(reply.text)")
        #expect(try await deployment.loggedIn(visitor).objectID == id)
        // No refused record is lost: the same request shows the further ones.
        let unknown = (1...250).map { "nobody\($0)@example.com,\($0)\n" }.joined()
        let body = JSONValue.object([
            "provider": .string("facebook"), "app": .string("1234567890"), "file": .string("email,subject\n" + unknown),
        ]).text
        let first = try await owner.ask("POST", path, body)
        #expect(first["refused"]?.integer == 250 && first["refusals"]?.array?.count == 200, "\(first)")
        let next = try #require(first["next"]?.string)
        let rest = try await owner.ask("POST", "\(path)?dryRun=true&cursor=\(next)", body)
        let records = rest["refusals"]?.array?.compactMap { $0.object?["record"]?.integer }
        #expect(records == Array(201...250) && rest["next"]?.isNull == true, "\(rest)")
        for (body, place) in [
            (#"{"provider": "facebook"}"#, "/file"), (#"{\#(file)}"#, "/provider"),
            (#"{"provider": "facebook", "app": "a b", \#(file)}"#, "/app"),
            (#"{"provider": "facebook", "format": "xml", \#(file)}"#, "/format"),
            (#"{"provider": "facebook", "idsOf": "nowhere", \#(file)}"#, "/idsOf"),
            (#"{"provider": "facebook", "apps": {}, \#(file)}"#, "/apps"),
        ] {
            let reply = try await owner.send("POST", path, body)
            #expect(reply.status == 400 && reply.text.contains(#""\#(place)""#), "\(body): \(reply.text)")
        }
    }

    @Test("users with equal values are found as groups, page by page, with what tells them apart")
    func duplicates() async throws {
        var ids: [String] = []
        for (name, email, birthday) in [
            ("Twin", "Twin@example.org", "1990-05-17"), ("twin", "twin@example.org", "1990-05-17"),
            ("Twin", "other@example.org", "1990-05-18"), ("Lone", "lone@example.org", "1990-05-17"),
            ("Pair", "pair@example.org", "1991-01-01"), ("pair", "PAIR@example.org", "1991-01-01"),
        ] {
            let user = try await person(name).user
            ids.append(user.objectID)
            try await deployment.database.psql(
                """
                update demo.users set name = '\(name)', email = '\(email)', birthday = '\(birthday)',
                    created = now() + interval '\(ids.count) s'
                where object_id = '\(user.objectID)'
                """
            )
        }
        try await deployment.database.psql("update demo.users set email = null where object_id = '\(ids[3])'")
        /// The groups with users of this test, each as the indexes of its users.
        func groups(_ query: String) async throws -> Set<[Int]> {
            let all = try await deployment.admin(.viewer).all("applications/demo/duplicates\(query)", limit: 1)
            return Set(
                all.map { group in
                    (group["users"]?.array ?? []).compactMap { $0.object?["objectId"]?.string }.compactMap(
                        ids.firstIndex
                    )
                }.filter { !$0.isEmpty }
            )
        }
        #expect(try await groups("") == [[0, 1], [4, 5]])
        #expect(try await groups("?by=name") == [[0, 1, 2], [4, 5]])
        #expect(try await groups("?by=name,birthday") == [[0, 1], [4, 5]])
        let all = try await deployment.admin(.viewer).all("applications/demo/duplicates?by=name,birthday")
        let twins = try #require(all.first { $0["shared"]?.object?["name"]?.string == "twin" })
        #expect(twins["shared"]?.object?["birthday"]?.string == "1990-05-17" && twins["count"]?.integer == 2)
        let first = twins["users"]?.array?.first?.object
        #expect(first?["loginMethods"]?.array?.compactMap(\.string) == ["facebook"])
        #expect(first?["emailVerified"]?.bool == false && first?["userStatus"]?.string == "ENABLED")
        for bad in [
            "by=nothing", "by=", "by=email,,name", "by=email%27", "cursor=x", "by=email,name,nick,age,birthday",
        ] {
            let reply = try await deployment.admin(.viewer).send("GET", "applications/demo/duplicates?\(bad)")
            #expect(reply.status == 400, "\(bad)")
        }
    }

    @Test("a user is found by each criterion, by several that all hold, and by none that does not")
    func search() async throws {
        let (visitor, ann) = try await person("Ann Searched")
        let (_, bob) = try await person("Bob Searched")
        try await deployment.database.psql(
            """
            update demo.users set age = 42, height = 1.75, vip = true, seen = '2026-01-02T03:04:05.678Z', extra = '{"a": [1]}'
            where object_id = '\(ann.objectID)'
            """
        )
        let email = try #require(ann.user["email"]?.string)
        for query in [
            "objectId=\(ann.objectID)", "objectId=\(ann.objectID.lowercased())", "subject=\(visitor.id)",
            "email=\(email.encodedForPath)", "email=\(email.uppercased().encodedForPath)", "name=ann%20sea",
            "property=age&value=42", "property=height&value=1.75", "property=vip&value=true",
            "property=nick&value=Ann&name=Searched", "status=ENABLED&provider=facebook&name=Ann+Sea",
            "name=Ann+Sea&property=age&value=42&subject=\(visitor.id)",
        ] { #expect(try await found(query) == [ann.objectID], "\(query)") }
        #expect(Set(try await found("name=searched")) == [ann.objectID, bob.objectID])
        #expect(
            Set(try await found("property=birthday&value=1990-05-17")).isSuperset(of: [ann.objectID, bob.objectID])
        )
        for query in [
            "subject=1", "status=DISABLED&name=Ann+Sea", "provider=password&name=Ann+Sea", "provider=nobody",
            "email=nobody@example.com", "email=ann", "name=nobody", "property=age&value=43",
            "objectId=\(bob.objectID)&subject=\(visitor.id)", "objectId=00000000-0000-4000-8000-000000000000",
        ] { #expect(try await found(query) == [], "\(query)") }
    }

    @Test("a search that cannot be meant is refused, and is never a list of everybody")
    func malformedSearch() async throws {
        let viewer = try await deployment.admin(.viewer)
        for query in [
            "mail=x", "Email=x", "email=a&email=b", "property=age", "value=1", "property=age&value=x",
            "property=birthday&value=yesterday", "property=nothing&value=1", "objectId=x", "limit=0", "limit=-1",
            "limit=201", "status=disabled", "status=", "provider=Facebook", "provider=", "status=ENABLED&status=GUEST",
            "limit=1e3", "limit=99999999999999999999", "cursor=x", "cursor=%00", "email=%ff", "email=%", "&", "name",
        ] {
            let reply = try await viewer.send("GET", "\(Self.users)?\(query)")
            if query == "name" || query == "&" {
                #expect(reply.status == 200 || reply.status == 400, "\(query): \(reply.text)")
            } else {
                try expectProblem(reply, oneOf: ["malformed_request", "not_found"], "\(query)")
            }
        }
    }

    @Test("a list comes page by page, each user once, while users come and go")
    func pages() async throws {
        var expected: Set<String> = []
        for index in 1...7 { expected.insert(try await person("Paged \(index)").user.objectID) }
        let viewer = try await deployment.admin(.viewer)
        let all = try await viewer.all("\(Self.users)?name=paged", limit: 2).compactMap { $0["objectId"]?.string }
        #expect(all.count == 7)
        #expect(Set(all) == expected)
        // The last user of a page is deleted, and the next page continues after that user.
        let first = try await viewer.get("\(Self.users)?name=paged&limit=3")
        let last = try #require(first["items"]?.array?.last?.object?["objectId"]?.string)
        try await deployment.admin().ask("DELETE", "\(Self.users)/\(last)?confirm=\(last)")
        let cursor = try #require(first["next"]?.string)
        let rest = try await viewer.all("\(Self.users)?name=paged&cursor=\(cursor)").compactMap {
            $0["objectId"]?.string
        }
        #expect(rest == Array(all.dropFirst(3)))
    }

    @Test("a user is shown with identities and sessions, and without any token")
    func show() async throws {
        let (visitor, ann) = try await person("Ann Shown")
        let again = try await deployment.loggedIn(visitor)
        let reply = try await deployment.admin(.viewer).send("GET", "\(Self.users)/\(ann.objectID)")
        let shown = try #require(JSON.object(reply.text))
        let user = try #require(shown["user"]?.object)
        #expect(user["objectId"]?.string == ann.objectID)
        #expect(user["birthday"]?.string == "1990-05-17")
        #expect(user["emailVerified"]?.bool == false)
        #expect(user["user-token"] == nil)
        let identity = try #require(shown["identities"]?.array?.first?.object)
        #expect(identity["provider"]?.string == "facebook")
        #expect(identity["appId"]?.string == "1234567890")
        #expect(identity["subject"]?.string == visitor.id)
        #expect(identity["grantedScopes"]?.array?.contains(.string("user_birthday")) == true)
        #expect(shown["sessions"]?.array?.count == 2)
        try await expectNoToken(of: [ann.token, again.token], in: reply)
    }

    /// Expects neither a session token nor any form of its hash, which is the key to its row.
    private func expectNoToken(
        of tokens: [String],
        in reply: HTTPReply,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for token in tokens {
            let hashes = try await deployment.database.psql(
                "select encode(h, 'hex'), encode(h, 'base64') from (select sha256(convert_to('\(token)', 'UTF8')) h) x"
            )
            for secret in [token] + hashes.joined().compactMap(\.self) {
                // Base64url differs from base64 in two characters; eleven bytes are enough to recognise a token.
                let found = reply.text.lowercased().contains(secret.prefix(16).lowercased())
                #expect(!found, "\(reply.text)", sourceLocation: sourceLocation)
            }
        }
    }

    @Test("who is disabled is refused at once with every session, and logs in no more; enabled, they log in anew")
    func disable() async throws {
        let (visitor, ann) = try await person("Ann Disabled")
        let editor = try await deployment.admin(.editor)
        let path = "\(Self.users)/\(ann.objectID)"
        let entries = try await deployment.audited {
            let changed = try await editor.ask("PATCH", path, #"{"user": {"userStatus": "DISABLED"}}"#)
            #expect(changed["user"]?.object?["userStatus"]?.string == "DISABLED")
            #expect(changed["sessions"]?.array?.isEmpty == true)
        }
        #expect(entries.count == 1)
        #expect(entries.first?["details"]?.object == ["from": .string("ENABLED"), "to": .string("DISABLED")])
        let refused = try await deployment.get("users/\(ann.objectID)", token: ann.token)
        try expectProblem(refused, oneOf: ["session_invalid", "account_disabled"])
        #expect(try await deployment.get("users/isvalidusertoken/\(ann.token)").text == "false")
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(visitor), "account_disabled")
        }
        try await editor.ask("PATCH", path, #"{"user": {"userStatus": "ENABLED"}}"#)
        #expect(
            try await deployment.get("users/isvalidusertoken/\(ann.token)").text == "false",
            "a session does not rise again"
        )
        let back = try await deployment.loggedIn(visitor)
        #expect(back.objectID == ann.objectID)
        // An unchanged user writes nothing but the audit entry, since the operator has read the user.
        try await deployment.expectNothingWritten(except: ["federation.operator_tokens", "federation.audit_log"]) {
            try await editor.ask("PATCH", path, #"{"user": {"userStatus": "ENABLED"}}"#)
        }
    }

    @Test("nothing but the status can be changed here, and only to what an operator decides")
    func otherChanges() async throws {
        let (_, ann) = try await person("Ann Unchanged")
        let owner = try await deployment.admin()
        try await deployment.expectNothingWritten(except: ["federation.operator_tokens"]) {
            for json in [
                #"{"user": {"userStatus": "GUEST"}}"#, #"{"user": {"userStatus": "disabled"}}"#,
                #"{"user": {"userStatus": null}}"#,
                #"{"user": {"email": "x@example.com"}}"#, #"{"user": {"userStatus": "DISABLED", "name": "x"}}"#,
                #"{"userStatus": "GUEST"}"#, #"{"sessions": []}"#, #"{"identities": null}"#, "[]", "7", "null", "",
                #"{"user": {"userStatus": "DISABLED"}, "user": {"userStatus": "ENABLED"}}"#,
            ] {
                let reply = try await owner.send("PATCH", "\(Self.users)/\(ann.objectID)", json)
                try expectProblem(reply, oneOf: ["malformed_request", "document_invalid"], "\(json)")
            }
        }
    }

    @Test("one session is ended by its id, or all of them")
    func sessions() async throws {
        let (visitor, first) = try await person("Ann Many")
        let second = try await deployment.loggedIn(visitor)
        let third = try await deployment.loggedIn(visitor)
        let editor = try await deployment.admin(.editor)
        let path = "\(Self.users)/\(first.objectID)"
        func live() async throws -> [Bool] {
            var live: [Bool] = []
            for session in [first, second, third] {
                live.append(try await deployment.get("users/isvalidusertoken/\(session.token)").text == "true")
            }
            return live
        }
        #expect(try await live() == [true, true, true])
        // The newest session is first.
        let ids = try await editor.get(path)["sessions"]?.array?.compactMap { $0.object?["id"]?.string } ?? []
        try #require(ids.count == 3)
        try await editor.ask("DELETE", "\(path)/sessions/\(ids[1])")
        #expect(try await live() == [true, false, true])
        try expectProblem(try await editor.send("DELETE", "\(path)/sessions/\(ids[1])"), "not_found")
        try await editor.ask("DELETE", "\(path)/sessions")
        #expect(try await live() == [false, false, false])
        #expect(try await deployment.loggedIn(visitor).objectID == first.objectID, "who was logged out may log in")
    }

    @Test("an identity is taken away, but never the last one")
    func unlink() async throws {
        let (visitor, ann) = try await person("Ann Linked")
        let owner = try await deployment.admin()
        let path = "\(Self.users)/\(ann.objectID)/identities/facebook"
        try await deployment.expectNothingWritten(except: ["federation.operator_tokens"]) {
            try expectProblem(try await owner.send("DELETE", "\(path)/1234567890/\(visitor.id)"), "conflict")
            try expectProblem(try await owner.send("DELETE", "\(path)/1234567890/1"), "not_found")
            try expectProblem(try await owner.send("DELETE", "\(path)/1/\(visitor.id)"), "not_found")
        }
        try await deployment.database.psql(
            """
            insert into demo.identities (provider, provider_app, subject, object_id)
            values ('facebook', '77', '78', '\(ann.objectID)')
            """
        )
        try await owner.ask("DELETE", "\(path)/1234567890/\(visitor.id)")
        let subjects = try await deployment.database.psql(
            "select subject from demo.identities where object_id = '\(ann.objectID)'"
        )
        #expect(subjects == [["78"]])
        #expect(
            try await deployment.loggedIn(visitor).objectID != ann.objectID,
            "who comes back by it is somebody else"
        )
    }

    @Test("a person's password is a login method: what they log in with is shown, and the last identity may go")
    func password() async throws {
        _ = try await deployment.register("Pia.Canary@example.com")
        let pia = try await deployment.logIn("pia.canary@example.com")
        let visitor = try await deployment.newcomer(#"{"first_name": "Pia"}"#)
        let linked = try await deployment.send(
            "POST",
            "users/identities/facebook",
            #"{"accessToken": "\#(visitor.token)"}"#,
            token: pia.token
        )
        try #require(linked.status == 200, "\(linked.text)")
        try await deployment.database.psql(
            "insert into demo.user_roles (object_id, role) values ('\(pia.objectID)', 'Editor')"
        )
        let owner = try await deployment.admin()
        for path in ["", "/export"] {
            let reply = try await owner.send("GET", "\(Self.users)/\(pia.objectID)\(path)")
            let person = try #require(JSON.object(reply.text))
            #expect(person["password"]?.object?["login"]?.string == "pia.canary@example.com")
            #expect((person["password"]?.object?["changed"]?.integer ?? 0) > 1_700_000_000_000)
            #expect(person["roles"]?.array?.map(\.string) == ["Editor"])
            #expect(!reply.text.contains("argon2"))
        }
        let identities = "\(Self.users)/\(pia.objectID)/identities"
        try await owner.ask("DELETE", "\(identities)/facebook/1234567890/\(visitor.id)")
        #expect(try await deployment.logIn("pia.canary@example.com").objectID == pia.objectID)
        try expectProblem(
            try await owner.send("DELETE", "\(identities)/password/x/pia.canary@example.com"),
            "not_found"
        )
    }

    @Test("the export of a person has every value that is stored of them, and no hash of a token")
    func export() async throws {
        let (visitor, ann) = try await person("Ann Exported")
        let again = try await deployment.loggedIn(visitor)
        let editor = try await deployment.admin(.editor)
        try await editor.ask("PATCH", "\(Self.users)/\(ann.objectID)", #"{"user": {"userStatus": "DISABLED"}}"#)
        try await editor.ask("PATCH", "\(Self.users)/\(ann.objectID)", #"{"user": {"userStatus": "ENABLED"}}"#)
        let third = try await deployment.loggedIn(visitor)
        try await deployment.database.psql(
            """
            update demo.users set height = 1.75, vip = true, seen = '2026-01-02T03:04:05.678Z', extra = '{"a": ["word-in-json"]}',
            locale = 'de_DE', dynamic = '{"word": "word-in-dynamic"}' where object_id = '\(ann.objectID)'
            """
        )
        let reply = try await editor.send("GET", "\(Self.users)/\(ann.objectID)/export")
        let export = try #require(JSON.object(reply.text), "\(reply.text)")
        let email = try #require(ann.user["email"]?.string)
        for value in [
            ann.objectID, email, "Ann Exported", "1990-05-17", "1.75", "word-in-json", "word-in-dynamic", "de_DE",
            visitor.id,
            "1234567890", "user_birthday", "user.disable", "user.enable",
        ] { #expect(reply.text.contains(value), "\(value) in \(reply.text)") }
        let identity = try #require(export["identities"]?.array?.first?.object)
        #expect(
            identity["written"]?.object?["nick"]?.string == "Ann",
            "what the mapping wrote is stored, so it is shown"
        )
        #expect(export["sessions"]?.array?.count == 1)
        try await expectNoToken(of: [ann.token, again.token, third.token], in: reply)

        // Every column of the row is exported under some name: a value written to each column is found.
        let columns = try await deployment.database.psql(
            """
            select column_name from information_schema.columns where table_schema = 'demo' and table_name = 'users'
            and data_type = 'text' and column_name not in ('user_status')
            """
        )
        for column in columns.compactMap({ $0.first.flatMap(\.self) }) {
            let row = try #require(try await deployment.row(of: ann.objectID))
            try await deployment.database.psql(
                "update demo.users set \"\(column)\" = 'word-in-\(column)' where object_id = '\(ann.objectID)'"
            )
            let text = try await editor.send("GET", "\(Self.users)/\(ann.objectID)/export").text
            #expect(text.contains("word-in-\(column)"), "\(column)")
            let before = row[column]?.string.map { "'\($0)'" } ?? "null"
            try await deployment.database.psql(
                "update demo.users set \"\(column)\" = \(before) where object_id = '\(ann.objectID)'"
            )
        }
    }

    @Test("who is erased leaves no row, and their sessions are over; without the confirmation nothing happens")
    func erase() async throws {
        let (visitor, ann) = try await person("Ann Erased")
        let (_, bob) = try await person("Bob Kept")
        let owner = try await deployment.admin()
        let path = "\(Self.users)/\(ann.objectID)"
        try await deployment.expectNothingWritten(except: ["federation.operator_tokens"]) {
            for query in ["", "?confirm=", "?confirm=yes", "?confirm=\(bob.objectID)", "?confirm=demo"] {
                let reply = try await owner.send("DELETE", path + query)
                try expectProblem(reply, oneOf: ["malformed_request", "document_invalid", "conflict"], "\(query)")
            }
        }
        let kept = try #require(try await deployment.row(of: bob.objectID))
        let earlier = try await deployment.idToken(of: visitor, #""iatOffset": -100"#)
        try await owner.ask("DELETE", "\(path)?confirm=\(ann.objectID)")
        try expectProblem(try await deployment.login(idToken: earlier), "credential_revoked")
        for table in ["users", "identities", "sessions"] {
            let left = try await deployment.value(
                "select count(*) from demo.\(table) where object_id = '\(ann.objectID)'"
            )
            #expect(left == "0", "\(table)")
        }
        let email = try #require(ann.user["email"]?.string)
        #expect(try await deployment.database.psql("select * from canaries('\(email)', '\(visitor.id)')") == [])
        #expect(try await deployment.row(of: bob.objectID) == kept)
        try expectProblem(try await deployment.get("users/\(ann.objectID)", token: ann.token), "session_invalid")
        try expectProblem(try await owner.send("GET", path), "not_found")
        try expectProblem(try await owner.send("DELETE", "\(path)?confirm=\(ann.objectID)"), "not_found")
        #expect(try await deployment.loggedIn(visitor).created, "who comes back is a new user")
    }
}
