import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private func document(_ name: String, _ rights: String) -> Document {
    Document(
        application: name,
        hasServerKey: true,
        settings: #"{"roles": ["editor"], "collection": \#(rights)}"#,
        properties: """
            {"city": {"type": "STRING", "clientMappable": true, "visibleTo": "users"},
             "salary": {"type": "INT", "clientMappable": true}, "risk": {"type": "INT", "visibleTo": "server"}}
            """
    )
}

private let closed = document("closed", #"{"deleteOwn": []}"#)
private let shared = document(
    "shared",
    #"{"find": ["users"], "readOthers": ["users", "guests"], "updateOthers": ["users"]}"#
)
private let editors = document(
    "editors",
    """
    {"find": ["role:editor"], "readOthers": ["role:editor"], "updateOthers": ["role:editor"],
     "deleteOwn": ["role:editor"]}
    """
)

@Suite(
    "Who may do what in the users collection",
    .serialized,
    .deployed(closed, shared, editors)
)
struct CollectionPolicyTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private enum Who: String, CaseIterable {
        case nobody, guest, user, editor, server
    }

    /// A request, with placeholders for the own id and another user's id.
    private struct What: Sendable {
        let name: String
        let method: String
        let endpoint: String
        var body: String?
        /// The response per application: to no session, a guest, a user, an editor and a server.
        let answers: [String: [String]]
    }

    private static let ok = "200"

    private static let matrix: [What] = [
        What(
            name: "find",
            method: "POST",
            endpoint: "data/Users/find",
            body: #"{"where": "city = 'Rome'"}"#,
            answers: [
                "closed": ["query_forbidden", "query_forbidden", "query_forbidden", "query_forbidden", ok],
                "shared": ["query_forbidden", "query_forbidden", ok, ok, ok],
                "editors": ["query_forbidden", "query_forbidden", "query_forbidden", ok, ok],
            ]
        ),
        What(
            name: "count",
            method: "GET",
            endpoint: "data/Users/count",
            answers: [
                "closed": ["query_forbidden", "query_forbidden", "query_forbidden", "query_forbidden", ok],
                "shared": ["query_forbidden", "query_forbidden", ok, ok, ok],
                "editors": ["query_forbidden", "query_forbidden", "query_forbidden", ok, ok],
            ]
        ),
        What(
            name: "search by what others do not show",
            method: "POST",
            endpoint: "data/Users/find",
            body: #"{"where": "salary > 1"}"#,
            answers: [
                "closed": ["query_forbidden", "query_forbidden", "query_forbidden", "query_forbidden", ok],
                "shared": ["query_forbidden", "query_forbidden", "query_invalid", "query_invalid", ok],
                "editors": ["query_forbidden", "query_forbidden", "query_forbidden", "query_invalid", ok],
            ]
        ),
        What(
            name: "read the own record",
            method: "GET",
            endpoint: "data/Users/{own}",
            answers: ["closed", "shared", "editors"].reduce(into: [:]) {
                $0[$1] = ["session_invalid", ok, ok, ok, ok]
            }
        ),
        What(
            name: "read another",
            method: "GET",
            endpoint: "users/{other}",
            answers: [
                "closed": ["session_invalid", "not_found", "not_found", "not_found", ok],
                "shared": ["session_invalid", ok, ok, ok, ok],
                "editors": ["session_invalid", "not_found", "not_found", ok, ok],
            ]
        ),
        What(
            name: "read nobody",
            method: "GET",
            endpoint: "data/Users/00000000-0000-4000-8000-000000000000",
            answers: ["closed", "shared", "editors"].reduce(into: [:]) {
                $0[$1] = ["session_invalid", "not_found", "not_found", "not_found", "not_found"]
            }
        ),
        What(
            name: "change the own record",
            method: "PUT",
            endpoint: "users/{own}",
            body: #"{"salary": 7}"#,
            answers: ["closed", "shared", "editors"].reduce(into: [:]) {
                $0[$1] = ["session_invalid", ok, ok, ok, ok]
            }
        ),
        What(
            name: "change another",
            method: "PUT",
            endpoint: "data/Users/{other}",
            body: #"{"city": "Oslo"}"#,
            answers: [
                "closed": ["session_invalid", "not_own_record", "not_own_record", "not_own_record", ok],
                "shared": ["session_invalid", "not_own_record", ok, ok, ok],
                "editors": ["session_invalid", "not_own_record", "not_own_record", ok, ok],
            ]
        ),
        What(
            name: "change another's address",
            method: "PUT",
            endpoint: "users/{other}",
            body: #"{"email": "{new}"}"#,
            answers: ["closed", "shared", "editors"].reduce(into: [:]) {
                $0[$1] = ["session_invalid", "not_own_record", "not_own_record", "not_own_record", ok]
            }
        ),
        What(
            name: "change another's password",
            method: "PUT",
            endpoint: "users/{other}",
            body: #"{"password": "three more canary words"}"#,
            answers: ["closed", "shared", "editors"].reduce(into: [:]) {
                $0[$1] = ["session_invalid", "not_own_record", "not_own_record", "not_own_record", ok]
            }
        ),
        What(
            name: "change another's status",
            method: "PUT",
            endpoint: "users/{other}/status",
            body: #"{"userStatus": "ENABLED"}"#,
            answers: ["closed", "shared", "editors"].reduce(into: [:]) {
                $0[$1] = [
                    "server_key_required", "server_key_required", "server_key_required", "server_key_required", ok,
                ]
            }
        ),
        What(
            name: "make a user",
            method: "POST",
            endpoint: "data/Users",
            body: #"{"city": "Bern"}"#,
            answers: ["closed", "shared", "editors"].reduce(into: [:]) {
                $0[$1] = [
                    "creation_forbidden", "creation_forbidden", "creation_forbidden", "creation_forbidden", ok,
                ]
            }
        ),
        What(
            name: "make many",
            method: "POST",
            endpoint: "data/bulk/Users",
            body: #"[{"city": "Bern"}, {"city": "Basel", "email": "{new}"}]"#,
            answers: ["closed", "shared", "editors"].reduce(into: [:]) {
                $0[$1] = [
                    "creation_forbidden", "creation_forbidden", "creation_forbidden", "creation_forbidden", ok,
                ]
            }
        ),
        What(
            name: "delete another",
            method: "DELETE",
            endpoint: "data/Users/{other}",
            answers: ["closed", "shared", "editors"].reduce(into: [:]) {
                $0[$1] = ["session_invalid", "deletion_forbidden", "deletion_forbidden", "deletion_forbidden", ok]
            }
        ),
        What(
            name: "delete the own account",
            method: "DELETE",
            endpoint: "users/{own}",
            answers: [
                "closed": ["session_invalid", "deletion_forbidden", "deletion_forbidden", "deletion_forbidden", ok],
                "shared": ["session_invalid", ok, ok, ok, ok],
                "editors": ["session_invalid", "deletion_forbidden", "deletion_forbidden", ok, ok],
            ]
        ),
    ]

    /// Creates a user of each kind; without a session and for a server, the own id is that of an ordinary user.
    private func person(_ who: Who, of document: Document) async throws -> (id: String, token: String?) {
        if who == .guest {
            let guest = try deployment.signedIn(
                try await deployment.send("POST", "users/register/guest", to: document)
            )
            return (guest.objectID, guest.token)
        }
        let email = "\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        let id = try #require(
            try await deployment.register(email, #""city": "Rome", "salary": 5"#, to: document)["objectId"]?.string
        )
        guard who == .user || who == .editor else { return (id, nil) }
        if who == .editor {
            let given = try await deployment.send(
                "POST",
                "users/assignRole",
                #"{"user": "\#(id)", "roleName": "editor"}"#,
                key: Canary.serverAPIKey,
                to: document
            )
            #expect(given.status == 200, "\(given.text)")
        }
        return (id, try await deployment.logIn(email, to: document).token)
    }

    @Test(
        "T-117: of each question each kind of caller gets the answer of the table, and nothing else",
        arguments: 0..<3
    )
    func matrix(of index: Int) async throws {
        let document = [closed, shared, editors][index]
        let other = try await person(.nobody, of: document)
        for (column, who) in Who.allCases.enumerated() {
            var (own, token) = try await person(who, of: document)
            for what in Self.matrix {
                let isLast = what.name == "delete another" && who == .server
                let target = isLast ? try await person(.nobody, of: document).id : other.id
                let reply = try await deployment.send(
                    what.method,
                    what.endpoint.replacing("{own}", with: own).replacing("{other}", with: target),
                    what.body?.replacing("{new}", with: "\(UInt32.random(in: 0...UInt32.max)).canary@example.com"),
                    token: token,
                    key: who == .server ? Canary.serverAPIKey : nil,
                    to: document
                )
                let expected = try #require(what.answers[document.application]?[column])
                let comment: Comment =
                    "\(document.application): \(who.rawValue): \(what.name): \(reply.status) \(reply.text)"
                if expected == Self.ok {
                    #expect(reply.status == 200, comment)
                } else {
                    #expect(
                        JSON.object(reply.text)?["errorData"]?.object?["reason"]?.string == expected,
                        comment
                    )
                    try expectProblem(reply, expected)
                }
                if what.name == "delete the own account", expected == Self.ok {
                    #expect(
                        try await deployment.value(
                            "select count(*) from \(document.application).users where object_id = '\(own)'"
                        ) == "0"
                    )
                    (own, token) = try await person(who, of: document)
                }
            }
        }
    }

    @Test("T-117: who changes another learns no address and no status by a guess, and changes no language")
    func guesses() async throws {
        let other = try await person(.nobody, of: shared)
        let user = try await person(.user, of: shared)
        let email = try #require(
            try await deployment.value("select email from shared.users where object_id = '\(other.id)'")
        )
        let guesses = [
            #""email": "\#(email)""#, #""email": "guess.canary@example.com""#, #""userStatus": "ENABLED""#,
            #""userStatus": "DISABLED""#,
        ]
        for guess in guesses {
            let body = "{\(guess), \"city\": \"Oslo\"}"
            let reply = try await deployment.send("PUT", "users/\(other.id)", body, token: user.token, to: shared)
            try expectProblem(reply, "not_own_record")
        }
        let body = #"{"city": "Bonn", "blUserLocale": "de", "email": null}"#
        let reply = try await deployment.send("PUT", "users/\(other.id)", body, token: user.token, to: shared)
        #expect(reply.status == 200, "\(reply.text)")
        let stored = "select city || coalesce(locale, '') from shared.users where object_id = '\(other.id)'"
        #expect(try await deployment.value(stored) == "Bonn")
    }

    @Test("others see what is shown to users and nothing else, and a server everything")
    func members() async throws {
        let document = shared
        let other = try await person(.nobody, of: document)
        let user = try await person(.user, of: document)
        try await deployment.database.psql("update shared.users set risk = 9 where object_id = '\(other.id)'")
        func keys(_ reply: HTTPReply) throws -> [String] {
            try #require(JSON.object(reply.text), "\(reply.text)").members.map(\.key)
        }
        let seen = try keys(try await deployment.get("users/\(other.id)", token: user.token, of: document))
        #expect(seen == ["___class", "objectId", "ownerId", "created", "updated", "city"])
        let own = try keys(try await deployment.get("users/\(user.id)", token: user.token, of: document))
        #expect(own.contains("salary") && own.contains("email") && !own.contains("risk"))
        let all = try keys(
            try await deployment.send("GET", "users/\(other.id)", key: Canary.serverAPIKey, to: document)
        )
        #expect(all.contains("risk") && all.contains("salary"))
        for query in ["props=salary", "excludeProps=risk", "sortBy=lastLogin", "where=userStatus%3D'GUEST'"] {
            try expectProblem(
                try await deployment.get("data/Users?\(query)", token: user.token, of: document),
                "query_invalid"
            )
        }
        let found = try await deployment.get("data/Users?where=city='Rome'", token: user.token, of: document)
        for user in try #require(JSON.value(found.text)?.array) {
            #expect(user.object?.members.map(\.key) == seen)
        }
        // Properties that users cannot see they cannot write either; sending the whole object back is allowed.
        _ = try await deployment.send(
            "PUT",
            "users/\(other.id)",
            #"{"salary": 1, "risk": 1, "city": "Oslo", "objectId": "\#(other.id)", "___class": "Users"}"#,
            token: user.token,
            to: document
        )
        #expect(
            try await deployment.value(
                "select city || salary || risk from shared.users where object_id = '\(other.id)'"
            )
                == "Oslo59"
        )
        let described = try await deployment.get("users/userclassprops", of: document)
        #expect(described.text.contains("salary") && !described.text.contains("risk"))
    }
}
