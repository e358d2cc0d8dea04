import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// Returns an application for one walk over the routes.
private func walked(_ name: String) -> Document {
    Document(
        application: name,
        properties: #"{"walked": {"type": "STRING"}}"#,
        mapping: #"[{"from": "email", "to": "email"}, {"from": "name", "to": "name"}]"#
    )
}

@Suite(
    "Every route of the administration",
    .serialized,
    .deployed(
        walked("refused"),
        walked("viewers"),
        walked("editors"),
        walked("owners"),
        walked("own"),
        walked("others")
    )
)
struct AdministrationRouteTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func document(_ name: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == name })
    }

    @Test("the document that is served has exactly the routes that these tests walk")
    func table() async throws {
        let served = try await deployment.admin(.viewer).get("openapi.json")
        let paths = try #require(served["paths"]?.object)
        var patterns: Set<String> = []
        for path in paths.members {
            guard let behind = path.key.split(separator: "/admin/v1/", omittingEmptySubsequences: true).first,
                path.key.hasPrefix("/admin/v1/")
            else {
                let isOpen = path.key.hasPrefix("/health/") || path.key == "/metrics"
                #expect(isOpen, "\(path.key) is no path of the administration")
                continue
            }
            let methods = (path.value.object?.keys ?? []).filter {
                ["get", "put", "post", "delete", "patch", "head", "options", "trace"].contains($0)
            }
            for method in methods { patterns.insert("\(method.uppercased()) \(AdminRoute.anonymous(behind))") }
        }
        let walked = Set(AdminRoute.all.map(\.pattern))
        #expect(patterns.subtracting(walked) == [], "what is not walked")
        #expect(walked.subtracting(patterns) == [], "what is not there")
        #expect(patterns.count > 40)
    }

    @Test("T-113: without a valid operator's token every route answers 401, unknown paths too, and nothing is written")
    func withoutToken() async throws {
        let walk = try await deployment.walk(in: try document("refused"))
        let strangers = try await strangers(user: walk)
        let unknown = [
            "/admin", "/admin/v1", "/admin/v2/applications", "/admin/v1/users", "nothing",
        ]
        let routes =
            AdminRoute.all
            + unknown.map { AdminRoute("GET", $0, .viewer) }
        for (name, stranger) in strangers {
            let entries = try await deployment.audited {
                try await deployment.expectNothingWritten {
                    for route in routes {
                        // Many attempts from one address would be rate limited.
                        let reply = try await walk.send(route, by: stranger.elsewhere)
                        try expectProblem(reply, "operator_token_invalid", "\(name): \(route)")
                        let challenge = reply.header("WWW-Authenticate") ?? ""
                        #expect(challenge.hasPrefix("Bearer"), "\(name): \(route)")
                    }
                }
            }
            #expect(entries.isEmpty, "\(name): \(entries.map(\.text))")
        }
    }

    /// Returns clients without a valid token, by the credential that they send instead.
    private func strangers(user walk: Walk) async throws -> [(String, AdminClient)] {
        let owner = try await deployment.admin()
        let revoked = try await owner.ask("POST", "operators/owner/tokens", "{}")
        let id = try #require(revoked["id"]?.string)
        try await owner.ask("DELETE", "operators/owner/tokens/\(id)")
        let expired = try await owner.ask("POST", "operators/owner/tokens", #"{"expiresInSeconds": 3600}"#)
        try await deployment.database.psql(
            """
            update federation.operator_tokens set expires = now() - interval '1 second'
            where id = '\(try #require(expired["id"]?.string))'
            """
        )
        let removed = try await owner.ask("POST", "operators", #"{"name": "gone", "role": "owner"}"#)
        try await owner.ask("DELETE", "operators/gone")
        let visitor = try await deployment.newcomer()
        let session = try await deployment.loggedIn(visitor, to: try document("refused"))
        let good = try #require(owner.token)
        let flipped = good.dropLast() + (good.hasSuffix("A") ? "Q" : "A")
        return [
            ("no token", nil), ("a revoked token", revoked["token"]?.string),
            ("an expired token", expired["token"]?.string),
            ("the token of a removed operator", removed["token"]?.string), ("another token", String(flipped)),
            ("the session of a user", session.token), ("an API key", Canary.apiKey), ("nonsense", "fedop_"),
            ("a token of Facebook", visitor.token), ("SQL", "' or true --"),
        ].map { ($0.0, deployment.admin(token: $0.1)) }
    }

    @Test("T-113: only a bearer token in the header Authorization counts, not one in the query, in Basic or twice")
    func otherPlaces() async throws {
        let token = try #require(try await deployment.admin().token)
        let path = "/admin/v1/applications"
        let stranger = deployment.admin(token: nil)
        for headers in [
            [("user-token", token)], [("Authorization", token)], [("Authorization", "Basic \(token)")],
            [("Authorization", "Bearer \(token) \(token)")], [("Authorization", "Bearer  ")],
            [("Cookie", "token=\(token)")], [("Authorization", "Bearer x"), ("Authorization", "Bearer \(token)")],
        ] {
            let reply = try await stranger.elsewhere.http.get(path, headers: headers)
            try expectProblem(reply, oneOf: ["operator_token_invalid", "malformed_request"], "\(headers.map(\.0))")
        }
        for query in ["token", "access_token", "authorization"] {
            let reply = try await stranger.elsewhere.http.get("\(path)?\(query)=\(token)")
            try expectProblem(reply, "operator_token_invalid", "\(query)")
        }
        let lower = try await stranger.http.get(path, headers: [("authorization", "bearer \(token)")])
        #expect(lower.status == 200, "the scheme is the same in any case: \(lower.text)")
    }

    @Test(
        "T-112: each role may do what is its own, and what it may not is refused, with one entry of the audit log for either",
        arguments: Role.allCases
    )
    func roles(role: Role) async throws {
        let walk = try await deployment.walk(in: try document("\(role)s"))
        let admin = try await deployment.admin(role)
        for route in AdminRoute.all {
            let isAllowed = Role.allCases.firstIndex(of: role)! >= Role.allCases.firstIndex(of: route.role)!
            var reply: HTTPReply?
            let entries = try await deployment.audited { reply = try await walk.send(route, by: admin) }
            let answer = try #require(reply)
            let comment: Comment = "\(role): \(route): \(answer.status) \(answer.text) \(entries.map(\.text))"
            if isAllowed {
                #expect(answer.status == route.status, comment)
                #expect(entries.compactMap { $0["action"]?.string } == route.audited, comment)
                if answer.status == 201 { #expect(answer.header("Location")?.hasPrefix("/admin/v1/") == true, comment) }
            } else {
                try expectProblem(answer, "operator_forbidden", comment)
                #expect(entries.compactMap { $0["action"]?.string } == ["refused"], comment)
                #expect(entries.first?["target"]?.string?.hasPrefix(route.method) == true, comment)
            }
            for entry in entries {
                #expect(entry["actor"]?.string == role.rawValue, comment)
                #expect(entry["source"]?.string == "127.0.0.1", comment)
                if route.path.hasPrefix("applications/") {
                    #expect(entry["application_id"]?.string == "\(role)s", comment)
                }
            }
        }
    }

    @Test("T-117: what belongs to another application is not found through one's own, by any role, and stays")
    func otherApplication() async throws {
        let own = try await deployment.walk(in: try document("own"))
        var foreign = try await deployment.walk(in: try document("others"))
        // Names that only the other application has; its users, sessions and subjects are its own by nature.
        let owner = try await deployment.admin()
        try await owner.ask("PATCH", "applications/others/keys/tests", #"{"label": "theirs"}"#)
        try await owner.ask("PATCH", "applications/others/properties/walked", #"{"name": "theirs"}"#)
        foreign.names.merge(["application": "own", "key": "theirs", "property": "theirs", "revision": "7"]) { $1 }
        let parameters = [
            "{key}", "{property}", "{revision}", "{user}", "{session}", "{subject}", "{factor}", "{invitation}",
        ]
        let routes = AdminRoute.all.filter { route in
            let path = route.path.prefix { $0 != "?" }
            return parameters.contains { path.contains($0) }
        }
        #expect(routes.count >= 12)
        for role in Role.allCases {
            let admin = try await deployment.admin(role)
            try await deployment.expectNothingWritten(except: ["federation.operator_tokens", "federation.audit_log"]) {
                for route in routes {
                    let reply = try await foreign.send(route, by: admin)
                    try expectProblem(reply, oneOf: ["not_found", "operator_forbidden"], "\(role): \(route)")
                    if role == .owner { #expect(reply.status == 404, "\(route)") }
                }
                // Mixed paths: a user of one's own with the session, the identity or the token of another.
                var mixed = own
                mixed.names.merge([
                    "session": foreign.names["session"] ?? "", "subject": foreign.names["subject"] ?? "",
                ]) { $1 }
                for route in AdminRoute.all where route.path.contains("{session}") || route.path.contains("{subject}") {
                    let reply = try await mixed.send(route, by: admin)
                    try expectProblem(reply, oneOf: ["not_found", "operator_forbidden"], "\(role): \(route)")
                }
                let token = foreign.names["token"] ?? ""
                let reply = try await admin.send("DELETE", own.fill("operators/{operator}/tokens/\(token)"))
                try expectProblem(reply, oneOf: ["not_found", "operator_forbidden"], "\(role)")
            }
        }
        let last = try await deployment.database.psql(
            "select count(*) from others.users union all select count(*) from own.users"
        )
        #expect(last == [["1"], ["1"]])
    }

    @Test("an application, or anything in one, that there is not is not found on every route")
    func unknown() async throws {
        let owner = try await deployment.admin()
        for name in [
            "nowhere", "federation", "public", "pg_catalog", "OWN", "own%20", "%2e%2e", "%00", "own%2Fkeys", "-",
        ] {
            let walk = Walk(names: [
                "application": name, "key": "tests", "property": "walked", "revision": "1", "session": "0",
                "user": "00000000-0000-4000-8000-000000000000", "added": "added", "provider": "facebook", "app": "1",
                "subject": "1", "operator": "nobody", "factor": "0", "banned": "0",
                "token": "0", "invitation": "0",
            ])
            for route in AdminRoute.all where route.path.contains("{") {
                let reply = try await walk.send(route, by: owner)
                try expectProblem(
                    reply,
                    oneOf: ["not_found", "malformed_request", "document_invalid"],
                    "\(name): \(route)"
                )
            }
        }
    }

    @Test("the public listener has none of it, and a token of an operator is nothing there")
    func publicListener() async throws {
        let walk = try await deployment.walk(in: try document("refused"))
        let owner = try await deployment.admin()
        let token = try #require(owner.token)
        let public_ = AdminClient(http: deployment.client, token: token)
        let document = try document("refused")
        try await deployment.expectNothingWritten {
            for route in AdminRoute.all {
                try expectProblem(try await walk.send(route, by: public_), "not_found", "\(route)")
            }
            let user = try #require(walk.names["user"])
            for reply in [
                try await deployment.get("users/\(user)", token: token, of: document),
                try await deployment.client.get(
                    deployment.path("users/\(user)", of: document),
                    headers: [("Authorization", "Bearer \(token)")]
                ),
            ] { try expectProblem(reply, "session_invalid") }
            #expect(try await deployment.get("users/isvalidusertoken/\(token)", of: document).text == "false")
            let reply = try await deployment.client.post("/refused/\(token)/users/loginWithFacebook", json: "{}")
            try expectProblem(reply, "unknown_application")
        }
        let login = try await deployment.login(body: #"{"accessToken": "\#(token)"}"#, to: document)
        try expectProblem(login, oneOf: ["credential_invalid", "credential_wrong_kind"])
    }
}
