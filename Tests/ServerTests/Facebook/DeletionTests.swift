import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

private let document = Document(
    apps: ["1234567890", "2345678901"],
    options: #""keepTokens": true, "returnUrls": ["https://app.example.com/done"]"#,
    mapping: #"{"email": "email", "name": "name"}"#
)

@Suite("T-118: the deletion that Facebook asks for", .serialized, .deployed(document))
struct DeletionTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let profile = #"{"email": "ann.canary@example.com", "name": "Ann Canary"}"#

    /// Returns the path of the page that a response links to.
    private func path(of reply: CallbackReply) throws -> String {
        let url = try #require(reply.json["url"]?.string)
        let base = "http://127.0.0.1:\(deployment.client.port)"
        try #require(url == base + deployment.path("users/oauth/facebook/deletion/\(reply.code)"), "\(url)")
        return String(url.dropFirst(base.count))
    }

    @Test(
        "T-118: whoever asks is gone, nothing tells whom it was about, and a replay has the same code and erases nobody"
    )
    func erased() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let session = try await deployment.loggedIn(ann)
        let issued = Int64(Date().timeIntervalSince1970)
        var first: CallbackReply?
        let entries = try await deployment.audited {
            let reply = try await deployment.deliver("deletion", ann, #""issuedAt": \#(issued)"#)
            #expect(reply.status == 200, "\(reply.body)")
            #expect(reply.json.keys == ["url", "confirmation_code"])
            first = reply
        }
        let reply = try #require(first)
        #expect(reply.code.utf8.count == 26)
        #expect(try await deployment.rowCount(of: session.objectID) == "0")
        #expect(try await deployment.get("users/isvalidusertoken/\(session.token)").text == "false")
        #expect(entries.map { $0["action"]?.string } == ["user.erase", "permissions.remove"])
        #expect(
            entries.allSatisfy {
                $0["actor"]?.string == "provider:facebook" && $0["target"]?.string == session.objectID
            }
        )
        let found = try await deployment.database.psql("select place from canaries('\(ann.id)', '\(ann.key)') as place")
        #expect(found.isEmpty, "\(found)")

        // The next login creates a new user.
        let again = try await deployment.loggedIn(try await visitor(again: ann))
        #expect(again.created && again.objectID != session.objectID)
        try await deployment.expectNothingWritten {
            let replay = try await deployment.deliver("deletion", ann, #""issuedAt": \#(issued)"#)
            #expect(replay.status == 200 && replay.body == reply.body)
        }
        // A different request that was signed before the new login erases nobody.
        let old = try await deployment.deliver("deletion", ann, #""issuedAt": \#(issued - 3600)"#)
        #expect(old.status == 200 && old.code != reply.code)
        #expect(try await deployment.get("users/isvalidusertoken/\(again.token)").text == "true")
    }

    @Test("T-118: an ID token from before the deletion makes nobody, a new one makes a new user")
    func earlierIDToken() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let session = try await deployment.loggedIn(ann)
        let earlier = try await deployment.idToken(of: ann, #""iatOffset": -100"#)
        #expect(try await deployment.deliver("deletion", ann).status == 200)
        #expect(try await deployment.rowCount(of: session.objectID) == "0")
        try await deployment.expectNothingWritten(except: ["demo.single_use"]) {
            try expectProblem(try await deployment.login(idToken: earlier), "credential_revoked")
        }
        let found = try await deployment.database.psql("select place from canaries('\(ann.id)', '\(ann.key)') as place")
        #expect(found.isEmpty, "\(found)")

        let again = try await deployment.login(idToken: try await deployment.idToken(of: ann))
        #expect(again.status == 201 || again.status == 200, "\(again.text)")
        #expect(!again.text.contains(session.objectID))
        #expect(try await deployment.identity(of: ann) != nil)
    }

    @Test("T-118: a login code from before the deletion makes nobody, whoever was known here or not")
    func earlierLoginCode() async throws {
        let (ann, stranger) = (try await deployment.newcomer(Self.profile), try await deployment.newcomer())
        _ = try await deployment.loggedIn(ann)
        for visitor in [ann, stranger] {
            let end = try await deployment.login(as: visitor)
            let location = try #require(end.header("Location"), "\(end.text)")
            let code = try #require(try Address(location)["loginCode"])
            #expect(try await deployment.deliver("deletion", visitor).status == 200)
            try expectProblem(try await deployment.redeem(code), "credential_invalid")
            #expect(try await deployment.identity(of: visitor) == nil)
        }
    }

    @Test("T-118: a login with such a token that waits for the deletion makes nobody either")
    func waitingIDToken() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let session = try await deployment.loggedIn(ann)
        let earlier = try await deployment.idToken(of: ann, #""iatOffset": -100"#)
        // The deletion commits as soon as another transaction waits for it.
        async let deletion = deployment.database.psql(
            """
            begin;
            delete from demo.users where object_id = '\(session.objectID)';
            insert into demo.single_use (kind, hash, expires)
            values ('ended', federation.identity_hash('facebook', '1234567890', '\(ann.id)'), now() + interval '2 hours');
            do $$ begin
                for i in 1..1000 loop
                    perform pg_stat_clear_snapshot();
                    exit when exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock');
                    perform pg_sleep(0.01);
                end loop;
            end $$;
            commit
            """
        )
        // Check the lock on the table written last: the query's text is visible before its effects.
        try await eventually("the deletion is under way") {
            try await deployment.value(
                """
                select count(*) from pg_locks
                where relation = 'demo.single_use'::regclass and mode = 'RowExclusiveLock' and granted
                """
            ) == "1"
        }
        try expectProblem(try await deployment.login(idToken: earlier), "credential_revoked")
        _ = try await deletion
        #expect(try await deployment.identity(of: ann) == nil)
    }

    /// Returns the same user with another token, since the end of our permissions revoked the first one.
    private func visitor(again ann: Visitor) async throws -> Visitor {
        Visitor(
            key: ann.key,
            id: ann.id,
            token: try await deployment.simulator.mint("long", person: ann.key, app: "1234567890")
        )
    }

    @Test("the page says how far it is, names nobody, executes nothing and is not kept")
    func page() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let session = try await deployment.loggedIn(ann)
        let page = try await deployment.client.get(try path(of: try await deployment.deliver("deletion", ann)))
        #expect(page.status == 200)
        #expect(page.header("Content-Type") == "text/html; charset=utf-8")
        #expect(page.header("Cache-Control") == "no-store")
        #expect(page.header("X-Content-Type-Options") == "nosniff")
        #expect(page.header("Referrer-Policy") == "no-referrer")
        let policy = try #require(page.header("Content-Security-Policy"))
        #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
        #expect(page.text.contains(#"<html lang="en">"#) && page.text.contains("<h1>") && page.text.contains("<title>"))
        #expect(page.text.contains("Your data was deleted on <time datetime="))
        for secret in ["canary", ann.id, session.objectID, "<script", " style="] {
            #expect(!page.text.lowercased().contains(secret.lowercased()), "\(secret)")
        }
    }

    @Test("T-117: a code that is none, unknown, or of another application leads to one and the same page")
    func unknownCodes() async throws {
        let ann = try await deployment.newcomer()
        let code = try await deployment.deliver("deletion", ann).code
        let endpoint = "users/oauth/facebook/deletion/"
        let unknown = try await deployment.get(endpoint + String(repeating: "A", count: 26))
        #expect(unknown.status == 404)
        #expect(unknown.header("Content-Type") == "text/html; charset=utf-8")
        #expect(unknown.text.contains("no deletion request with this code"))
        for other in ["x", "%00", code.lowercased(), code + "A", String(repeating: "a", count: 5000)] {
            let reply = try await deployment.get(endpoint + other)
            #expect(reply.status == 404 && reply.text == unknown.text, "\(other.prefix(30))")
        }
        let foreign = try await deployment.client.get(deployment.path(endpoint + code, of: .witness))
        let name = deployment.documents.first?.application ?? ""
        #expect(foreign.status == 404 && foreign.text == unknown.text.replacing(name, with: "witness"))
        #expect(try await deployment.get(endpoint + code).status == 200)
    }

    @Test("each of several Facebook apps deletes its own identity; the account goes with the last one")
    func severalApps() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let session = try await deployment.loggedIn(ann)
        try await deployment.simulator.patch(
            person: ann.key,
            #"{"ids": {"1234567890": "\#(ann.id)", "2345678901": "\#(ann.id)7"}}"#
        )
        try await deployment.database.psql(
            """
            insert into demo.identities (provider, provider_app, subject, object_id)
            values ('facebook', '2345678901', '\(ann.id)7', '\(session.objectID)')
            """
        )
        let entries = try await deployment.audited {
            let reply = try await deployment.deliver("deletion", ann)
            #expect(reply.status == 200)
        }
        #expect(entries.first?["action"]?.string == "user.unlink")
        #expect(try await deployment.identity(of: ann) == nil)
        #expect(try await deployment.row(of: session.objectID) != nil)
        #expect(try await deployment.get("users/isvalidusertoken/\(session.token)").text == "false")
        #expect(try await deployment.deliver("deletion", ann, app: "2345678901").status == 200)
        #expect(try await deployment.rowCount(of: session.objectID) == "0")
    }

    @Test(
        "rows of the operator's own keep a request open: the person and the operator see it, and it is done when they are gone"
    )
    func blocked() async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        try await deployment.database.psql(
            """
            create table public.orders (buyer uuid references demo.users);
            insert into public.orders values ('\(session.objectID)')
            """
        )
        var first: CallbackReply?
        let entries = try await deployment.audited { first = try await deployment.deliver("deletion", ann) }
        let reply = try #require(first)
        #expect(reply.status == 200)
        #expect(entries.map { $0["action"]?.string } == ["deletion.blocked"])
        #expect(try await deployment.row(of: session.objectID) != nil)
        let page = try await deployment.client.get(try path(of: reply))
        #expect(page.status == 200 && page.text.contains("in progress") && !page.text.contains("orders"))
        try await deployment.database.psql(
            """
            drop table public.orders; update federation.deletion_requests set attempted = null where done is null
            """
        )
        try await eventually("the erasure") { try await deployment.rowCount(of: session.objectID) == "0" }
        #expect(try await deployment.client.get(try path(of: reply)).text.contains("Your data was deleted on"))
    }

    @Test("50 people are erased at once, each once")
    func many() async throws {
        var visitors: [(Visitor, LoginResult)] = []
        for _ in 0..<50 {
            let visitor = try await deployment.newcomer()
            visitors.append((visitor, try await deployment.loggedIn(visitor)))
        }
        let issued = Int64(Date().timeIntervalSince1970)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (visitor, _) in visitors {
                for _ in 0..<2 {
                    group.addTask {
                        // A busy machine accepts fewer at once, and refuses the others before any effect.
                        try await eventually("a delivery is taken") {
                            try await deployment.deliver("deletion", visitor, #""issuedAt": \#(issued)"#).status == 200
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        // An erasure that a busy database prevented is retried later, or when the test asks for it.
        for (_, session) in visitors {
            try await eventually("the erasure", every: .milliseconds(200)) {
                if try await deployment.rowCount(of: session.objectID) == "0" { return true }
                try await deployment.database.psql(
                    "update federation.deletion_requests set attempted = null where done is null"
                )
                return false
            }
        }
        let ids = visitors.map { "'\($0.1.objectID)'" }.joined(separator: ", ")
        let erased = try await deployment.value(
            "select count(*) from federation.audit_log where action = 'user.erase' and target in (\(ids))"
        )
        #expect(erased == "50")
    }
}

@Suite(
    "The deletion that waits",
    .serialized,
    .deployed(Document(options: #""eraseAfterDays": 2"#, settings: #"{"hostNames": ["users.example.com"]}"#))
)
struct DelayedDeletionTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("until the day comes everything stays; then the background service erases, and the page says both")
    func delayed() async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        let code = try await deployment.deliver("deletion", ann).code
        let page = try await deployment.get("users/oauth/facebook/deletion/\(code)")
        #expect(page.text.contains("Your data will be deleted by <time datetime="))
        #expect(try await deployment.get("users/isvalidusertoken/\(session.token)").text == "true")
        try await deployment.database.psql("update federation.deletion_requests set due = now()")
        try await eventually("the erasure") { try await deployment.rowCount(of: session.objectID) == "0" }
        let done = try await deployment.get("users/oauth/facebook/deletion/\(code)")
        #expect(done.text.contains("Your data was deleted on"))
    }

    @Test("a call by a host of the application's gets a link to that host; what else a request says changes no link")
    func hostBound() async throws {
        let text = try await deployment.signedRequest("deletion", try await deployment.newcomer())
        func url(_ path: String, host: String) async throws -> String {
            let reply = try await deployment.client.send(
                "POST",
                path,
                headers: [
                    ("Host", host), ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Proto", "gopher"),
                    ("Forwarded", "host=evil.example"), ("Content-Type", "application/x-www-form-urlencoded"),
                ],
                body: Array("signed_request=\(text)".utf8)
            )
            try #require(reply.status == 200, "\(reply.text)")
            let object = try #require(JSON.object(reply.text))
            let code = try #require(object["confirmation_code"]?.string)
            let url = try #require(object["url"]?.string)
            let ending = "/users/oauth/facebook/deletion/" + code
            try #require(url.hasSuffix(ending))
            return String(url.dropLast(ending.utf8.count))
        }
        let port = deployment.client.port
        let byHost = try await url("/api/users/oauth/facebook/deletion", host: "users.example.com")
        #expect(byHost == "http://users.example.com:\(port)/api")
        let byKey = try await url(deployment.path("users/oauth/Facebook/deletion"), host: "evil.example")
        #expect(byKey == "http://127.0.0.1:\(port)" + deployment.path("").dropLast())
    }
}

@Suite(
    "A deployment that does not say its address",
    .serialized,
    .deployed(Document(), environment: ["FEDERATION_PUBLIC_URL": ""])
)
struct UnknownAddressTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test(
        "turns a request for deletion away, says what to set, and writes nothing; Facebook tells the person to try again"
    )
    func misconfigured() async throws {
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann)
        try await deployment.expectNothingWritten {
            let reply = try await deployment.deliver("deletion", ann)
            #expect(reply.status == 503 && reply.reason == "provider_misconfigured")
            #expect(reply.body.contains("FEDERATION_PUBLIC_URL"))
            // A forger learns nothing of the misconfiguration.
            let forged = try await deployment.deliver("deletion", ann, #""signWith": "none""#)
            #expect(forged.status == 400)
        }
        #expect(try await deployment.deliver("deauthorize", ann).status == 200)
    }
}
