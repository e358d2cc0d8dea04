import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Servers and roles",
    .serialized,
    .deployed(
        Document(
            hasServerKey: true,
            settings: #"{"roles": ["Editor", "Author"], "hostNames": ["users.example.com"]}"#
        )
    )
)
struct ServerKeyTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func server(_ method: String, _ endpoint: String, _ json: String? = nil) async throws -> HTTPReply {
        try await deployment.send(method, endpoint, json, key: Canary.serverAPIKey)
    }

    private func account(_ name: String) async throws -> LoginResult {
        _ = try await deployment.register("\(name).canary@example.com")
        return try await deployment.logIn("\(name).canary@example.com")
    }

    @Test("a server gives and takes roles by id and by login; it shows at once, and in the audit log")
    func roles() async throws {
        let ann = try await account("roles")
        let given = try await server("POST", "users/assignRole", #"{"user": "\#(ann.objectID)", "roleName": "Editor"}"#)
        #expect(given.status == 200 && given.body.isEmpty && given.header("Content-Type") == nil)
        try SwiftClient.nothing(given)
        let byLogin = #"{"user": "Roles.canary@example.com", "roleName": "Author"}"#
        #expect(try await server("POST", "users/assignRole", byLogin).status == 200)
        #expect(try await server("POST", "users/assignRole", byLogin).status == 200, "what is so already stays so")
        #expect(
            try await deployment.get("users/userroles", token: ann.token).text
                == #"["AuthenticatedUser","Author","Editor"]"#
        )
        let own = try await deployment.get("users/userroles/\(ann.objectID)", token: ann.token)
        #expect(own.text == #"["AuthenticatedUser","Author","Editor"]"#)
        #expect(try await server("GET", "users/userroles/\(ann.objectID)").text == own.text)

        let page = try await server("GET", "users/role/Editor?loadRoles=true&pageSize=5&offset=0")
        let user = try #require(JSON.value(page.text)?.array?.first?.object, "\(page.text)")
        #expect(user["objectId"]?.string == ann.objectID)
        #expect(user["roles"] == .array([.string("AuthenticatedUser"), .string("Author"), .string("Editor")]))
        #expect(try await server("GET", "users/role/Editor?offset=1").text == "[]")
        #expect(try await server("POST", "users/unassignRole", byLogin).status == 200)
        #expect(
            try await deployment.get("users/userroles", token: ann.token).text == #"["AuthenticatedUser","Editor"]"#
        )
        let entries = try await deployment.value(
            "select string_agg(actor || ' ' || action, ', ' order by id) from federation.audit_log where target = '\(ann.objectID)'"
        )
        let expected = ["role.give", "role.give", "read", "search", "role.take"].map { "key:server user." + $0 }
        #expect(entries == expected.joined(separator: ", "))
    }

    @Test("roles that there are not, and roles of the system, are neither given nor taken")
    func unknownRoles() async throws {
        let ann = try await account("unknown")
        for (path, role, reason) in [
            ("assignRole", "Admin", "role_unknown"), ("assignRole", "editor", "role_unknown"),
            ("assignRole", "AuthenticatedUser", "role_fixed"), ("assignRole", "guestuser", "role_fixed"),
            ("unassignRole", "GuestUser", "role_permanent"), ("unassignRole", "AuthenticatedUser", "role_permanent"),
            ("unassignRole", "Admin", "role_unknown"),
        ] {
            let body = #"{"user": "\#(ann.objectID)", "roleName": "\#(role)"}"#
            try expectProblem(try await server("POST", "users/\(path)", body), "\(reason)")
        }
        for user in ["00000000-0000-0000-0000-000000000000", "nobody.canary@example.com", "x"] {
            let body = #"{"user": "\#(user)", "roleName": "Editor"}"#
            try expectProblem(try await server("POST", "users/assignRole", body), "not_found")
        }
        try expectProblem(try await server("GET", "users/role/Admin"), "role_unknown")
        try expectProblem(try await server("GET", "users/role/Editor?pageSize=0"), "malformed_request")
    }

    @Test("a server disables a user, which ends the sessions, and enables the user again")
    func status() async throws {
        let ann = try await account("status")
        #expect(try await server("PUT", "users/\(ann.objectID)/status", #"{"userStatus": "DISABLED"}"#).status == 200)
        #expect(try await !deployment.isValid(ann.token))
        let login = #"{"login": "status.canary@example.com", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", login), "account_disabled")
        try expectProblem(
            try await server("PUT", "users/\(ann.objectID)/status", #"{"userStatus": "GUEST"}"#),
            "malformed_request"
        )
        #expect(try await server("PUT", "users/\(ann.objectID)/status", #"{"userStatus": "ENABLED"}"#).status == 200)
        #expect(try await deployment.logIn("status.canary@example.com").objectID == ann.objectID)
    }

    @Test("a server logs in as a user, by a session that does not authenticate the person")
    func loginByObjectID() async throws {
        let ann = try await account("object")
        let body = #"{"objectId": "\#(ann.objectID)"}"#
        let session = try deployment.signedIn(try await server("POST", "users/login", body))
        #expect(session.objectID == ann.objectID)
        try await eventually("the log says by which key") {
            deployment.service.process.standardOutput.split(separator: "\n").contains {
                $0.contains(#""message":"server login""#) && $0.contains(#""key":"key:server""#)
                    && $0.contains(ann.objectID)
            }
        }
        let change = try await deployment.send(
            "PUT",
            "users/\(ann.objectID)",
            #"{"password": "another canary sentence"}"#,
            token: session.token
        )
        try expectProblem(change, "reauthentication_required")
        // Operators see the server's address; the user, to whom it means nothing, does not.
        let logged = "from federation.login_log where object_id = '\(ann.objectID)' and source = '127.0.0.1'"
        try await eventually("the log has both logins") {
            try await deployment.value("select string_agg(method, ' ' order by id) \(logged)") == "password server"
        }
        let listed = JSON.value(try await deployment.get("users/sessions", token: session.token).text)?.array ?? []
        #expect(listed.map { $0.object?["source"]?.string } == [nil, "127.0.0.1"], "\(listed)")
        try expectProblem(
            try await server("POST", "users/login", #"{"objectId": "00000000-0000-0000-0000-000000000000"}"#),
            "not_found"
        )
    }

    @Test("with a server's key there is no dialog, whose address would show it to the person and to Facebook")
    func dialog() async throws {
        let reply = try await server("POST", "users/oauth/facebook/request_url", "{}")
        try expectProblem(reply, "malformed_request")
        #expect(reply.text.contains("not allowed with a server key") && !reply.text.contains(Canary.serverAPIKey))
        let deletion = try await deployment.client.send(
            "POST",
            "/demo/\(Canary.serverAPIKey)/users/oauth/facebook/deletion",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("signed_request=a.b".utf8)
        )
        try expectProblem(deletion, "malformed_request")
        #expect(deletion.text.contains("not allowed with a server key"))
        // Facebook does not tell the operator about the refused deletion; the log does.
        try await eventually("the log says so") {
            deployment.service.process.standardOutput.split(separator: "\n").contains {
                $0.contains(#""message":"request failed""#) && $0.contains("a server's key in an address")
            }
        }
    }

    @Test("a guest who is disabled and enabled again is a guest still")
    func guest() async throws {
        let guest = try #require(JSON.object(try await deployment.send("POST", "users/register/guest").text))
        let id = try #require(guest["objectId"]?.string)
        for status in ["ENABLED", "DISABLED", "ENABLED"] {
            let body = #"{"userStatus": "\#(status)"}"#
            #expect(try await server("PUT", "users/\(id)/status", body).status == 200)
        }
        let row = try await deployment.row(of: id)
        #expect(row?["user_status"]?.string == "GUEST", "\(String(describing: row))")
    }

    @Test("T-117: with a plain key none of it is to be had, for the own user neither")
    func plainKey() async throws {
        let ann = try await account("plain")
        let other = try await account("plain2")
        for id in [ann.objectID, other.objectID, "00000000-0000-0000-0000-000000000000", "x"] {
            for (method, path, body, reason) in [
                ("POST", "users/assignRole", #"{"user": "\#(id)", "roleName": "Editor"}"#, "role_assignment_forbidden"),
                (
                    "POST", "users/unassignRole", #"{"user": "\#(id)", "roleName": "Editor"}"#,
                    "role_assignment_forbidden"
                ),
                ("POST", "users/login", #"{"objectId": "\#(id)"}"#, "object_login_forbidden"),
                ("PUT", "users/\(id)/status", #"{"userStatus": "DISABLED"}"#, "server_key_required"),
                ("GET", "users/role/Editor", nil, "server_key_required"),
            ] as [(String, String, String?, String)] {
                let reply = try await deployment.send(method, path, body, token: ann.token)
                try expectProblem(reply, reason, "\(path) \(id)")
            }
        }
        try expectProblem(try await deployment.get("users/userroles/\(other.objectID)", token: ann.token), "not_found")
        #expect(
            try await deployment.value("select count(*) from demo.user_roles where object_id = '\(ann.objectID)'")
                == "0"
        )
    }

    @Test("a server's key in a browser is refused, and a host name never stands for one")
    func neverInPages() async throws {
        let path = "/demo/\(Canary.serverAPIKey)/users/role/Editor"
        let page = try await deployment.client.get(path, headers: [("Origin", "https://page.example.com")])
        try expectProblem(page, "unknown_application")
        #expect(!page.text.contains(Canary.serverAPIKey))
        let bound = try await deployment.client.get("/api/users/role/Editor", headers: [("Host", "users.example.com")])
        try expectProblem(bound, "server_key_required")
    }
}
