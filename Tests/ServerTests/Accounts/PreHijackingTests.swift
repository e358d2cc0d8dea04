import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

/// The five ways to prepare an account for its later owner (USENIX Security 2022; T-33).
///
/// In each the attacker comes first, the victim acts as victims do, and the attacker then tries everything left.
@Suite(
    "Accounts that somebody prepared",
    .serialized,
    .deployed(
        Document(
            consumers: ["consumerOne"],
            settings: #"{"registration": {"maxPerSourcePerHour": 1000}}"#,
            properties: #"{"nick": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"{"email": "email"}"#,
            twitterMapping: #"{"email": "email"}"#
        ),
        environment: mails.environment
    )
)
struct PreHijackingTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let own = "my very own canary sentence"

    /// Resets the password by a mailed link, as the victim does.
    private func restore(_ email: String) async throws -> LoginResult {
        #expect(try await deployment.send("GET", "users/restorepassword/\(email)").status == 200)
        let token = try await mails.token(to: email, page: "reset-password")
        let body = #"{"token": "\#(token)", "password": "\#(Self.own)"}"#
        let reply = try await deployment.send("POST", "users/resetpassword", body)
        #expect(reply.status == 200, "\(reply.text)")
        return try await deployment.logIn(email, password: Self.own)
    }

    private func link(_ visitor: Visitor, to session: LoginResult) async throws {
        let body = #"{"accessToken": "\#(visitor.token)"}"#
        let reply = try await deployment.send("POST", "users/identities/facebook", body, token: session.token)
        try #require(reply.status == 200, "\(reply.text)")
    }

    private func expectWrongPassword(_ email: String) async throws {
        let body = #"{"login": "\#(email)", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", body), "login_invalid")
    }

    @Test("T-33a: who registers the victim's address is not in the account that the victim's Facebook login makes")
    func classicFederatedMerge() async throws {
        let email = "a-victim.canary@example.com"
        let prepared = try await deployment.register(email)
        let session = try await deployment.logIn(email)
        let victim = try await deployment.loggedIn(try await deployment.newcomer(#"{"email": "\#(email)"}"#))
        #expect(victim.created && victim.objectID != prepared["objectId"]?.string)
        #expect(try await deployment.logIn(email).objectID == session.objectID)
        try expectProblem(
            try await deployment.send("PUT", "users/\(victim.objectID)", #"{"nick": "x"}"#, token: session.token),
            "not_own_record"
        )
    }

    @Test("T-33b: a session from before does not live on in the account that the victim has taken back")
    func unexpiredSession() async throws {
        let email = "b-victim.canary@example.com"
        _ = try await deployment.register(email)
        let kept = try await deployment.logIn(email)
        let victim = try await restore(email)
        #expect(victim.objectID == kept.objectID)
        #expect(try await !deployment.isValid(kept.token))
        try await expectWrongPassword(email)
    }

    @Test("T-33c: an identity that the attacker linked leads to nobody's account but their own")
    func trojanIdentifier() async throws {
        let email = "c-victim.canary@example.com"
        _ = try await deployment.register(email)
        let attacker = try await deployment.newcomer()
        try await link(attacker, to: try await deployment.logIn(email))
        let victim = try await restore(email)
        #expect(try await deployment.loggedIn(attacker).objectID != victim.objectID)
    }

    @Test("T-33d: a change of the address that was begun before comes to nothing")
    func unexpiredChange() async throws {
        let (first, email) = ("d-attacker.canary@example.com", "d-victim.canary@example.com")
        let account = try await deployment.register(first)
        let session = try await deployment.logIn(first)
        #expect(try await deployment.send("GET", "users/restorepassword/\(first)").status == 200)
        let old = try await mails.token(to: first, page: "reset-password")
        let id = account["objectId"]?.string ?? ""
        let changed = try await deployment.send("PUT", "users/\(id)", #"{"email": "\#(email)"}"#, token: session.token)
        #expect(changed.status == 200, "\(changed.text)")
        let victim = try await restore(email)
        #expect(victim.objectID == id, "the victim takes the account back that has their address")
        let late = #"{"token": "\#(old)", "password": "the attacker's last try"}"#
        try expectProblem(try await deployment.send("POST", "users/resetpassword", late), "link_invalid")
        #expect(try await !deployment.isValid(session.token))
        try await expectWrongPassword(email)
        try await expectWrongPassword(first)
    }

    @Test("T-33e: a provider that did not check the address opens no account of that address")
    func nonVerifyingProvider() async throws {
        let email = "e-victim.canary@example.com"
        let attacker = try await deployment.newcomer(#"{"email": "\#(email)"}"#)
        let bird = try await deployment.tweeter(#"{"email": "\#(email)"}"#)
        let outside = [
            try await deployment.loggedIn(attacker).objectID,
            try deployment.signedIn(try await deployment.login(bird)).objectID,
        ]
        let account = try await deployment.register(email)
        let id = try #require(account["objectId"]?.string)
        #expect(!outside.contains(id))
        #expect(try await deployment.loggedIn(attacker).objectID == outside[0])
        #expect(try await deployment.send("GET", "users/restorepassword/\(email)").status == 200)
        _ = try await mails.token(to: email, page: "reset-password")
        #expect(
            try await deployment.value("select object_id from demo.email_proofs where email = '\(email)'")?.uppercased()
                == id,
            "a mail goes to who has a password"
        )
    }

    @Test("T-30: a provider's address never takes the place of the one that somebody logs in with")
    func mappedAddress() async throws {
        let (email, other) = ("owner.canary@example.com", "other.canary@example.com")
        let account = try await deployment.register(email)
        let id = account["objectId"]?.string ?? ""
        try await deployment.database.psql("update demo.users set email_verified = true where object_id = '\(id)'")
        let person = try await deployment.newcomer(#"{"email": "\#(other)"}"#)
        try await link(person, to: try await deployment.logIn(email))
        let again = try await deployment.loggedIn(person)
        #expect(again.objectID == id && again.user["email"]?.string == email)
        let mapped = try await deployment.loggedIn(person, mapping: #"{"name": "email"}"#)
        #expect(mapped.user["email"]?.string == email)
        let row = try await deployment.value(
            "select email || ' ' || email_verified from demo.users where object_id = '\(id)'"
        )
        #expect(row == "\(email) true")
    }

    @Test("an address that was verified no provider changes; one that was not follows it")
    func changedAddress() async throws {
        let person = try await deployment.newcomer(#"{"email": "first.canary@example.com"}"#)
        let id = try await deployment.loggedIn(person).objectID
        try await deployment.simulator.patch(person: person.key, #"{"email": "second.canary@example.com"}"#)
        for (isVerified, email) in [(true, "first.canary@example.com"), (false, "second.canary@example.com")] {
            try await deployment.database.psql(
                "update demo.users set email_verified = \(isVerified) where object_id = '\(id)'"
            )
            _ = try await deployment.loggedIn(person)
            let row = try await deployment.value(
                "select email || ' ' || email_verified from demo.users where object_id = '\(id)'"
            )
            #expect(row == "\(email) \(isVerified)")
        }
    }
}
