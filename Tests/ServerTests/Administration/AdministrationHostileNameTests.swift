import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Names that operators give are names and nothing else",
    .serialized,
    .deployed(
        Document(
            properties: #"{"nick": {"type": "STRING", "clientMappable": true}, "age": {"type": "INT"}}"#,
            mapping: #"{"name": "nick"}"#
        ),
        // The tests observe the queries to the database, and background work would query at any time.
        environment: [
            "FEDERATION_LOG_LEVEL": "debug", "FEDERATION_MAINTENANCE_ENABLED": "false",
            "FEDERATION_LOGIN_LOG_DAYS": "0",
        ]
    )
)
struct AdministrationHostileNameTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let hostile = [
        #"x"; drop table demo.users;--"#, "a'b", "data->>'x'", "users.password", #""password""#, "nick\"", "nick'",
        "nick--", "nick,email", "nick/*", "nick;", "nick\\", "nick)", "$1", "%I", "%s%n", "nick::text", " nick",
        "nick ",
        "nick\n", "nick\u{0}", "\u{212A}ey", "nic\u{212A}", "${7*7}", "{{7*7}}", "`id`", "../users", "nick or 1=1",
    ]

    /// Words of PostgreSQL's own messages, and of the service's statements.
    private static let words = [
        "insert into", "alter table", "select ", "syntax error", "relation", "column \"", "pg_", "sqlstate", "libpq",
        "constraint", "near \"",
    ]

    private func expectRefused(
        _ reply: HTTPReply,
        as reasons: [String] = ["document_invalid", "malformed_request", "not_found"],
        _ what: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let data = try expectProblem(
            reply,
            oneOf: reasons,
            "\(what)",
            allowsCanary: false,
            sourceLocation: sourceLocation
        )
        // The response repeats the sent name where it says which is wrong; all other text is the service's.
        let own = ([JSON.object(reply.text)?["message"] ?? .null] + data.members.map(\.value)).map(\.text).joined()
        for word in Self.words where !what.lowercased().contains(word) {
            #expect(
                !own.lowercased().contains(word),
                "SQL in the reply to \(what): \(own)",
                sourceLocation: sourceLocation
            )
        }
    }

    private static let kept: Set = ["federation.operator_tokens"]

    @Test("T-52: names of properties are never spliced into SQL, wherever an operator may write one")
    func propertyNames() async throws {
        let owner = try await deployment.admin()
        try await deployment.expectNothingWritten(except: Self.kept) {
            for name in Self.hostile {
                let quoted = JSON.quoted(name)
                let declared = #"{"name": \#(quoted), "type": "STRING"}"#
                try expectRefused(try await owner.send("POST", "applications/demo/properties", declared), name)
                let renamed = try await owner.send(
                    "PATCH",
                    "applications/demo/properties/nick",
                    #"{"name": \#(quoted)}"#
                )
                try expectRefused(renamed, name)
                let document = #"{"application": "demo", "properties": {\#(quoted): {"type": "STRING"}}}"#
                try expectRefused(try await owner.send("PUT", "applications/demo/document", document), name)
                let path = "applications/demo/properties/\(name.encodedForPath)"
                try expectRefused(try await owner.send("GET", path), name)
                try expectRefused(try await owner.send("PATCH", path, #"{"required": true}"#), name)
                try expectRefused(try await owner.send("DELETE", "\(path)?confirm=\(name.encodedForPath)"), name)
            }
        }
    }

    @Test("T-52: nor are the names in mappings, in searches and in orders, nor the values that are searched for")
    func mappingsAndSearches() async throws {
        let owner = try await deployment.admin()
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let id = try await deployment.loggedIn(ann).objectID
        let last = try await deployment.lastAudited()
        try await deployment.expectNothingWritten(except: Self.kept.union(["federation.audit_log"])) {
            for name in Self.hostile {
                let quoted = JSON.quoted(name)
                for mapping in [
                    #"{"name": \#(quoted)}"#, #"[{"from": "name", "to": \#(quoted)}]"#,
                    #"[{"from": "name", "to": "nick", \#(quoted): true}]"#,
                ] {
                    let reply = try await owner.send("PUT", "applications/demo/mappings/facebook", mapping)
                    try expectRefused(reply, "\(mapping)")
                    let preview = #"{"profile": {"id": "1"}, "mapping": \#(mapping)}"#
                    let previewed = try await owner.send("POST", "applications/demo/mappings/facebook/preview", preview)
                    try expectRefused(
                        previewed,
                        as: ["document_invalid", "malformed_request", "mapping_invalid"],
                        mapping
                    )
                }
                let value = name.encodedForPath
                // An unknown property is refused; an unknown value is searched for and not found.
                let unknown = try await owner.send("GET", "applications/demo/users?property=\(value)&value=x")
                try expectRefused(unknown, name)
                for query in ["sort=\(value)", "order=\(value)", "\(value)=1", "limit=\(value)", "cursor=\(value)"] {
                    try expectRefused(try await owner.send("GET", "applications/demo/users?\(query)"), query)
                }
                for query in ["name=\(value)", "email=\(value)", "subject=\(value)", "property=nick&value=\(value)"] {
                    let reply = try await owner.send("GET", "applications/demo/users?\(query)")
                    if reply.status == 200 {
                        #expect(JSON.object(reply.text)?["items"]?.array?.isEmpty == true, "\(query): \(reply.text)")
                    } else {
                        try expectRefused(reply, query)
                    }
                }
                for path in ["applications/demo/users/\(value)", "applications/\(value)", "operators/\(value)"] {
                    try expectRefused(try await owner.send("GET", path), path)
                }
                for query in [
                    "actor=\(value)", "action=\(value)", "application=\(value)", "since=\(value)", "x=\(value)",
                ] {
                    let reply = try await owner.send("GET", "audit?\(query)")
                    if reply.status != 200 { try expectRefused(reply, query) }
                }
            }
        }
        let entries = try await deployment.audited(behind: last)
        #expect(!entries.isEmpty)
        for entry in entries {
            #expect(entry["action"]?.string == "user.search" && entry["target"]?.isNull == true, "\(entry)")
        }
        // The wildcards of LIKE are ordinary characters.
        for pattern in ["%", "_nn", "A%", "\\"] {
            let found = try await owner.all("applications/demo/users?name=\(pattern.encodedForPath)")
            #expect(found.isEmpty, "\(pattern)")
        }
        #expect(try await owner.get("applications/demo/users/\(id)")["user"]?.object?["objectId"]?.string == id)
    }

    @Test("T-54: nothing that an operator writes is evaluated: it is literal text or refused")
    func expressions() async throws {
        let owner = try await deployment.admin(.editor)
        let path = "applications/demo/mappings/facebook/preview"
        for text in ["${7*7}", "{{7*7}}", "%s%n", "#{7*7}", "<%= 7*7 %>", "$(id)", "`id`"] {
            let profile = #"{"id": "1", "name": \#(JSON.quoted(text))}"#
            let entry = #"[{"from": "name", "to": "nick", "default": \#(JSON.quoted(text))}]"#
            for body in [#"{"profile": \#(profile)}"#, #"{"profile": {"id": "1"}, "mapping": \#(entry)}"#] {
                let preview = try await owner.ask("POST", path, body)
                let values = preview["entries"]?.array?.compactMap { $0.object?["value"]?.string } ?? []
                #expect(values == [text], "\(body): \(preview.text)")
            }
        }
        for transform in [
            #"{"eval": "7*7"}"#, #""eval""#, #"{"js": "1"}"#, #"{"python": "1"}"#, #"{"regex": "(a+)+$"}"#,
            #"{"date": "%s%n"}"#,
            #"["trim", {"shell": "id"}]"#,
        ] {
            let mapping = #"[{"from": "name", "to": "nick", "transform": \#(transform)}]"#
            let reply = try await owner.send("PUT", "applications/demo/mappings/facebook", mapping)
            try expectRefused(reply, as: ["document_invalid"], transform)
        }
    }

    @Test("T-55: a name that PostgreSQL would cut is refused, so that two names never become one column")
    func longNames() async throws {
        let owner = try await deployment.admin()
        let names = [63, 64, 65, 127, 4000].map { String(repeating: "n", count: $0) }
        for name in names {
            let declared = try await owner.send(
                "POST",
                "applications/demo/properties",
                #"{"name": "\#(name)", "type": "INT"}"#
            )
            if name.utf8.count == 63 {
                #expect(declared.status == 201, "\(declared.text)")
            } else {
                try expectRefused(declared, "\(name.count) letters")
            }
        }
        let columns = try await deployment.database.psql(
            "select column_name from information_schema.columns where table_schema = 'demo' and column_name like 'nnn%'"
        )
        #expect(columns == [[names[0]]])
        try await owner.ask("DELETE", "applications/demo/properties/\(names[0])?confirm=\(names[0])")
        for id in [String(repeating: "a", count: 64), String(repeating: "a", count: 300)] {
            let reply = try await owner.send("POST", "applications", #"{"application": "\#(id)"}"#)
            try expectRefused(reply, "\(id.count) letters")
        }
    }

    @Test("T-57: names of the system are refused in every case, never with 500; words of SQL are good names")
    func reservedWords() async throws {
        let owner = try await deployment.admin()
        let system = [
            "objectId", "OBJECTID", "ownerId", "created", "updated", "lastLogin", "userStatus", "socialAccount",
            "accountType",
            "oAuthIdentities", "blUserLocale", "password", "user-token", "___class", "roles", "id", "code", "message",
            "object_id", "email_verified", "user_status", "social_account", "last_login", "locale", "dynamic", "ctid",
            "xmin",
            "cmin", "xmax", "cmax", "tableoid", "oid", "CTID", "__proto__", "",
        ]
        try await deployment.expectNothingWritten(except: Self.kept) {
            for name in system where name != "oid" {
                let reply = try await owner.send(
                    "POST",
                    "applications/demo/properties",
                    #"{"name": "\#(name)", "type": "STRING"}"#
                )
                try expectRefused(reply, as: ["document_invalid", "conflict"], name)
                let renamed = try await owner.send(
                    "PATCH",
                    "applications/demo/properties/age",
                    #"{"name": "\#(name)"}"#
                )
                try expectRefused(renamed, as: ["document_invalid", "conflict"], name)
            }
            for schema in ["pg_catalog", "pg_x", "information_schema", "public", "federation", "a\"b", "", "demo"] {
                let json = #"{"application": "schemaless", "schema": \#(JSON.quoted(schema))}"#
                let reply = try await owner.send("POST", "applications", json)
                try expectRefused(reply, as: ["document_invalid", "conflict"], schema)
            }
        }
        for name in ["user", "select", "order", "table", "null", "constructor", "default"] {
            let json = #"{"name": "\#(name)", "type": "INT"}"#
            try await owner.ask("POST", "applications/demo/properties", json)
            try await owner.ask("PATCH", "applications/demo/properties/\(name)", #"{"type": "DOUBLE"}"#)
            try await owner.ask("DELETE", "applications/demo/properties/\(name)?confirm=\(name)")
        }
    }

    @Test("T-84: a provider that nobody knows is refused, and what can be none before the database is asked")
    func providers() async throws {
        let owner = try await deployment.admin()
        let impossible = [
            "password", "Facebook", "Twitter", "FACEBOOK", "", "facebook%00", "facebook'--", "-a", "a-", "a_b",
            String(repeating: "a", count: 33),
        ]
        let unknown = ["facebook2", "x", "google", "apple"]
        func paths(to name: String) -> [(String, String, String?)] {
            let encoded = name.encodedForPath
            return [
                ("GET", "applications/demo/providers/\(encoded)", nil),
                ("PUT", "applications/demo/providers/\(encoded)", #"{"enabled": false, "apps": []}"#),
                ("POST", "applications/demo/providers/\(encoded)/check", nil),
                ("GET", "applications/demo/mappings/\(encoded)", nil),
                ("PUT", "applications/demo/mappings/\(encoded)", #"{"email": "email"}"#),
            ]
        }
        let asked = try await lastQuestion()
        try await deployment.expectNothingWritten(except: Self.kept) {
            for (method, path, json) in impossible.flatMap(paths) {
                let reply = try await owner.send(method, path, json)
                try expectRefused(reply, as: ["not_found", "method_not_allowed"], "\(method) \(path)")
                #expect(try await lastQuestion() <= asked, "\(method) \(path)")
            }
            // Paths of the public API ignore case, and some of these lead to a provider.
            for name in impossible + unknown where !["facebook", "twitter"].contains(name.lowercased()) {
                for path in [
                    "users/social/\(name.encodedForPath)/sdk/login", "users/oauth/\(name.encodedForPath)/login",
                ] {
                    let reply = try await deployment.client.post(deployment.path(path), json: #"{"accessToken": "x"}"#)
                    try expectRefused(reply, as: ["not_found"], path)
                    #expect(try await lastQuestion() <= asked, "\(path)")
                }
            }
            // These could be names of configured providers, which only the database knows.
            for (method, path, json) in unknown.flatMap(paths) {
                let reply = try await owner.send(method, path, json)
                try expectRefused(reply, as: ["not_found", "document_invalid"], "\(method) \(path)")
            }
        }
        try await owner.get("applications/demo")
        #expect(try await lastQuestion() > asked, "a question is noticed")
    }

    /// Returns the time of the last query to the database, apart from operator tokens and what the service asks by itself
    /// every few seconds.
    ///
    /// A connection is excluded once it has run one of those queries, so the returned time can only be too early.
    private func lastQuestion() async throws -> String {
        let last = try await deployment.value(
            """
            select to_char(max(query_start) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') from pg_stat_activity where datname = current_database()
                and application_name = 'federation' and query !~* 'operator_tokens|federation[.](configuration|deletion_requests)|^listen|^set '
            """
        )
        return last ?? ""
    }
}

extension String {
    /// The text as one path segment or query value, with every byte but letters and digits encoded.
    var encodedForPath: String {
        utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            if byte < 0x80, scalar.properties.isAlphabetic || scalar.properties.numericType != nil {
                return String(scalar)
            }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + (digits.utf8.count == 1 ? "0" : "") + digits
        }.joined()
    }
}
