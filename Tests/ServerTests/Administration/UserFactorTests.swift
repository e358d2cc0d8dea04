import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Second factors of users, as operators see them and take them away",
    .serialized,
    .deployed(
        Document(
            settings: #"{"secondFactor": {"policy": "optional", "factors": ["totp", "recoveryCode"]}}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        environment: mails.environment
    )
)
struct UserFactorTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let users = "applications/demo/users"

    /// Creates a user with a password, an authenticator app and recovery codes.
    private func enrolled() async throws -> (email: String, user: LoginResult, app: AuthenticatorApp, factor: String) {
        let email = "\(UUID().uuidString.lowercased()).canary@example.com"
        _ = try await deployment.register(email)
        let user = try await deployment.logIn(email)
        let (app, factor, _) = try await deployment.enrolApp(of: user)
        return (email, user, app, factor)
    }

    private func login(_ email: String) async throws -> HTTPReply {
        try await deployment.send(
            "POST",
            "users/login",
            #"{"login": "\#(email)", "password": "\#(Deployment.password)"}"#
        )
    }

    @Test("an operator sees the factors of a person, and nothing that is secret of them")
    func list() async throws {
        let (_, user, _, factor) = try await enrolled()
        let person = try await deployment.admin(.viewer).get("\(Self.users)/\(user.objectID)")
        let factors = try #require(person["factors"]?.array).compactMap(\.object)
        #expect(factors.map { $0["kind"]?.string } == ["totp", "recoveryCode"])
        #expect(factors.first?["id"]?.string == factor)
        #expect(factors.last?["codesLeft"]?.integer == 10)
        #expect(Set(factors[0].keys) == ["id", "kind", "label", "created", "lastUsed"])
        let listed = try await deployment.command("get", "applications/demo/users/\(user.objectID)")
        #expect(listed.contains(factor) && listed.contains("recoveryCode"), "\(listed)")
    }

    @Test("a factor that is taken away is asked for no more, its recovery codes go with it, and the person is told")
    func remove() async throws {
        let (email, user, _, factor) = try await enrolled()
        try expectProblem(try await login(email), "second_factor_required")
        let owner = try await deployment.admin()
        let path = "\(Self.users)/\(user.objectID)/factors"
        try expectProblem(try await owner.send("DELETE", "\(path)/\(UUID())"), "not_found")
        try expectProblem(try await owner.send("DELETE", "\(path)/nonsense"), "not_found")
        _ = try mails.take(to: email)
        let entries = try await deployment.audited { try await owner.ask("DELETE", "\(path)/\(factor)") }
        #expect(entries.map { $0["action"]?.string } == ["user.factor.remove"])
        let removed = entries.first?["details"]?.object?["from"]?.object?["factors"]?.array ?? []
        #expect(removed.map { $0.object?["kind"]?.string } == ["totp", "recoveryCode"], "\(entries.map(\.text))")
        #expect(removed.first?.object?["id"]?.string == factor)
        #expect(try await login(email).status == 200)
        #expect(try await mails.next(to: email).contains("an authenticator app"))
        let left = try await deployment.value("select count(*) from demo.factors where object_id = '\(user.objectID)'")
        #expect(left == "0", "no link of a mail finds one to bring back")
        try expectProblem(try await owner.send("DELETE", "\(path)/\(factor)"), "not_found")
    }

    @Test("the command line takes one or all of them, tells the person, and ends what devices were trusted by")
    func commandLine() async throws {
        let (email, user, _, _) = try await enrolled()
        try await deployment.database.psql(
            """
            insert into demo.trusted_devices (token_hash, object_id, expires)
            values (sha256('\(user.objectID)'), '\(user.objectID)', now() + interval '1 day')
            """
        )
        let unknown = try await deployment.federation(
            "delete",
            "applications/demo/users/\(user.objectID)/factors/\(user.objectID)"
        )
        #expect(unknown.exitStatus == .exited(66), "\(unknown.standardError)")
        _ = try mails.take(to: email)
        try await deployment.command(
            "delete",
            "applications/demo/users/\(user.objectID)/factors",
            "--confirm",
            user.objectID,
            environment: mails.environment
        )
        #expect(try await login(email).status == 200)
        #expect(try await mails.next(to: email).contains("an authenticator app"))
        let trusted = "select count(*) from demo.trusted_devices where object_id = '\(user.objectID)'"
        #expect(try await deployment.value(trusted) == "0")
    }

    @Test("under a policy that requires a factor, who has lost it enrols another at the next login")
    func required() async throws {
        let (email, user, _, _) = try await enrolled()
        let owner = try await deployment.admin()
        let policy = { (word: String) in #"{"settings": {"secondFactor": {"policy": "\#(word)"}}}"# }
        try await owner.ask("PATCH", "applications/demo", policy("required"))
        try await owner.ask("DELETE", "\(Self.users)/\(user.objectID)/factors")
        try expectProblem(try await login(email), "second_factor_enrolment_required")
        try await owner.ask("PATCH", "applications/demo", policy("optional"))
        #expect(try await login(email).status == 200)
    }

    @Test("T-118: a factor is encrypted anew with the master key, and goes on to count")
    func rotation() async throws {
        let (email, _, app, factor) = try await enrolled()
        let new = Data("canary-third-key-of-32-bytes-!!!".utf8).base64EncodedString()
        let there = ["FEDERATION_MASTER_KEY": new, "FEDERATION_MASTER_KEY_PREVIOUS": Canary.masterKey]
        let before = try await deployment.value("select encode(secret, 'hex') from demo.factors where id = '\(factor)'")
        try await deployment.command("secrets", "rotate", environment: there)
        let status = try await deployment.command("secrets", "status", "--json", environment: there)
        let secrets = JSON.object(status)?["secrets"]?.array?.compactMap(\.object) ?? []
        #expect(secrets.count == 1 && secrets.allSatisfy { ($0["factors"]?.integer ?? 0) > 0 }, "\(status)")
        let after = try await deployment.value("select encode(secret, 'hex') from demo.factors where id = '\(factor)'")
        #expect(before != nil && after != nil && before != after)

        let back = ["FEDERATION_MASTER_KEY": Canary.masterKey, "FEDERATION_MASTER_KEY_PREVIOUS": new]
        try await deployment.command("secrets", "rotate", environment: back)
        let reply = try await eventually("the instance has its secrets again") { () -> HTTPReply? in
            let reply = try await login(email)
            return reply.status == 401 ? reply : nil
        }
        let finished = try await deployment.finish(try deployment.putOff(reply), code: app.code(1))
        #expect(finished.status == 200, "\(finished.text)")
    }
}
