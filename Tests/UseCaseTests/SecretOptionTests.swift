@testable import Accounts
@testable import Administration
@testable import Applications
import Description
import Domain
import Encodings
import Facebook
import Providers
@testable import Secrets
@testable import Store
import Testing
import TestSupport

/// Tests with the verify token of Facebook's webhook, which is the only secret option.
@Suite("Options that are secrets")
struct SecretOptionTests {
    private static let token = "CANARY-verify-token"
    private static let apps = #""apps":[{"appId":"1","appSecret":"CANARY-one"}]"#

    /// Lends an office whose application has the token.
    private func lend(_ body: (Office) async throws -> Void) async throws {
        try await Office.lend { office in
            _ = try await office.administration.providers.put(
                .facebook,
                of: "demo",
                json(#"{\#(Self.apps),"webhookVerifyToken":"\#(Self.token)"}"#),
                if: .any,
                by: Office.actor
            )
            try await body(office)
        }
    }

    /// Stores the token in plain text, as version 4 of the schema did.
    private func storePlain(_ office: Office) async throws {
        try await office.database.psql(
            """
            update federation.provider_settings
            set options = jsonb_set(options, '{webhookVerifyToken}', to_jsonb('\(Self.token)'::text))
            """
        )
    }

    private func row(_ office: Office) async throws -> JSONValue {
        let rows = try await office.database.psql(
            "select options -> 'webhookVerifyToken' from federation.provider_settings"
        )
        return try json(try #require(rows.first?.first ?? nil))
    }

    /// Returns the application as an instance with these master keys loads it.
    private func loaded(_ office: Office, _ keys: String...) async throws -> LoadedApplication {
        let keys = try keys.map { try MasterKey(base64: Secret($0)) }
        let masterKeys = MasterKeys(current: try #require(keys.first), previous: Array(keys.dropFirst()))
        let id = try #require(ApplicationID("demo"))
        return LoadedApplication(
            try #require(try await office.store.application(id)),
            masterKeys: masterKeys,
            kinds: try .outOfReach()
        )
    }

    private func patch(_ office: Office, _ patch: String) async throws -> Resource {
        try await office.administration.providers.change(
            .facebook,
            of: "demo",
            patch: json(patch),
            if: .any,
            by: Office.actor
        )
    }

    @Test("T-110: no row and no entry of the audit log has the text, and what is stored opens in its own place only")
    func encrypted() async throws {
        try await lend { office in
            let row = try await row(office)
            #expect(Set(row.object?.members.map(\.key) ?? []) == ["sealed", "keyId", "changed"])
            let dump = try await office.database.psql(
                """
                select to_jsonb(p)::text from federation.provider_settings p
                union all select to_jsonb(a)::text from federation.audit_log a
                """
            )
            #expect(!"\(dump)".contains("CANARY") && "\(dump)".contains("•••"))
            let loaded = try await loaded(office, Office.oldKey)
            #expect(loaded.facebook?.webhookVerifyToken?.reveal() == Self.token && loaded.defect == nil)

            let stored = StoredSecretOption(row)
            let key = MasterKeys(current: try MasterKey(base64: Secret(Office.oldKey)))
            let (demo, other) = (try #require(ApplicationID("demo")), try #require(ApplicationID("other")))
            for (application, option, opens) in [
                (demo, "webhookVerifyToken", true), (other, "webhookVerifyToken", false), (demo, "another", false),
            ] {
                let place = MasterKey.Place.secretOption(application: application, provider: .facebook, option: option)
                #expect((stored.flatMap { key.open($0, at: place) } != nil) == opens)
            }
        }
    }

    @Test("one that was stored as it is works, is not shown, and is encrypted by the next change of the settings")
    func plain() async throws {
        try await lend { office in
            try await storePlain(office)
            #expect(
                try await loaded(office, Office.oldKey).facebook?.webhookVerifyToken?.reveal() == Self.token
            )
            let read = try await office.administration.providers.read(.facebook, of: "demo").body
            let shown = #"{"set":true,"changed":null,"keyId":null}"#
            #expect(read.object?["webhookVerifyToken"]?.text == shown)
            let document = try await office.administration.documents.read(of: "demo").body
            #expect(!document.text.contains("CANARY"))
            #expect(document.text.contains(#""webhookVerifyToken":{"env":"DEMO_FACEBOOK_WEBHOOK_VERIFY_TOKEN"}"#))

            _ = try await patch(office, #"{"proof":"classic"}"#)
            #expect(StoredSecretOption(try await row(office))?.encrypted != nil)
            #expect(
                try await loaded(office, Office.oldKey).facebook?.webhookVerifyToken?.reveal() == Self.token
            )
            let log = try await office.database.psql("select to_jsonb(a)::text from federation.audit_log a")
            #expect(!"\(log)".contains("CANARY"))
        }
    }

    @Test("options that cannot be read are shown and exported without it")
    func unreadable() async throws {
        try await lend { office in
            try await storePlain(office)
            try await office.database.psql(
                "update federation.provider_settings set options = options || '{\"idTokenSeconds\":9}'"
            )
            let read = try await office.administration.providers.read(.facebook, of: "demo").body
            let document = try await office.administration.documents.read(of: "demo").body
            #expect(read.text.contains(#""idTokenSeconds":9"#) && !(read.text + document.text).contains("CANARY"))
            let loaded = try await loaded(office, Office.oldKey)
            #expect(loaded.defect?.contains("idTokenSeconds") == true && loaded.defect?.contains("CANARY") == false)
            try await office.administration.providers.remove(.facebook, of: "demo", if: .any, by: Office.actor)
            let log = try await office.database.psql("select to_jsonb(a)::text from federation.audit_log a")
            #expect("\(log)".contains("idTokenSeconds") && !"\(log)".contains("CANARY"))
        }
    }

    @Test(
        "rotating encrypts it under the new key, counts it and leaves the time of its change; one that was stored as it is, too"
    )
    func rotation() async throws {
        try await lend { office in
            let before = try #require(StoredSecretOption(try await row(office)))
            let both = try office.with(keys: [Office.newKey, Office.oldKey])
            #expect(try await both.secrets.rotate(by: Office.actor) { _ in } == 2, "the app's secret and this one")
            let after = try #require(StoredSecretOption(try await row(office)))
            #expect(after.encrypted?.keyID != before.encrypted?.keyID && after.changed == before.changed)
            let loaded = try await loaded(office, Office.newKey)
            #expect(loaded.defect == nil && loaded.facebook?.webhookVerifyToken?.reveal() == Self.token)
            let new = try office.with(keys: [Office.newKey])
            let status = try await new.secrets.count().object?["secrets"]?.array
            #expect(status?.map { $0.object?["count"]?.integer } == [2])

            try await storePlain(office)
            #expect(try await new.secrets.rotate(by: Office.actor) { _ in } == 1, "without a former key")
            #expect(StoredSecretOption(try await row(office))?.encrypted?.keyID == after.encrypted?.keyID)
            #expect(try await new.secrets.rotate(by: Office.actor) { _ in } == 0)
            #expect(try await office.audit().filter { $0.hasPrefix("secrets.reencrypt") }.count == 3)
        }
    }

    @Test("one that does not open is told by its key, stops no other from being encrypted, and can be set anew")
    func unopened() async throws {
        try await lend { office in
            try await office.database.psql(
                """
                update federation.provider_settings
                set options = jsonb_set(options, '{webhookVerifyToken,keyId}', to_jsonb('lost'::text))
                """
            )
            let loaded = try await loaded(office, Office.oldKey)
            #expect(loaded.defect?.contains("webhookVerifyToken is under master key lost") == true)
            let both = try office.with(keys: [Office.newKey, Office.oldKey])
            let lost = try await failure { try await both.secrets.rotate(by: Office.actor) { _ in } }
            #expect(lost?.reason == .providerMisconfigured && lost?.message.contains("1 with lost") == true)

            let known = try MasterKey(base64: Secret(Office.oldKey)).id
            try await office.database.psql(
                """
                update federation.provider_settings set options = options
                    || '{"webhookVerifyToken": {"sealed": "AAAA", "keyId": "\(known)", "changed": null}}'
                """
            )
            let broken = try await failure { try await both.secrets.rotate(by: Office.actor) { _ in } }
            #expect(broken?.message.contains("webhookVerifyToken of the provider facebook of demo") == true)
            _ = try await patch(office, #"{"webhookVerifyToken":"\#(Self.token)"}"#)
            #expect(try await both.secrets.rotate(by: Office.actor) { _ in } == 1)
        }
    }

    @Test("an instance without its master key does not start, even where no app has a secret")
    func missingKey() throws {
        let stored = try Sample(apps: [], enabled: false, verifyToken: Self.token).stored()
        let other = MasterKeys(current: try #require(Sample.otherMasterKey))
        let missing = #expect(throws: MissingMasterKey.self) {
            try MissingMasterKey.check([stored], nil, kinds: .outOfReach(), held: other)
        }
        #expect(missing?.missing == [try #require(Sample.masterKey).id])
        #expect(throws: Never.self) {
            try MissingMasterKey.check([stored], nil, kinds: .outOfReach(), held: try Sample.masterKeys())
        }
    }

    @Test("a file names a variable for it or holds the text, and what is missing or wrong is told without its value")
    func documents() throws {
        let stored = try Sample(apps: [], enabled: false, verifyToken: Self.token).stored()
        func actions(_ given: String, _ environment: [String: String] = [:]) throws -> [String] {
            let text = #"{"application":"demo","name":"Demo","providers":{"facebook":{"enabled":false\#(given)}}}"#
            let document = try ApplicationDocument(text: Array(text.utf8), kinds: try .outOfReach())
            var secrets = DocumentSecrets(
                of: document.id,
                stored: stored,
                masterKeys: try Sample.masterKeys(),
                clock: .system,
                environment: { environment[$0] }
            )
            let desired = DesiredApplication(document, stored: stored, secrets: &secrets)
            guard secrets.problems.isEmpty else { throw secrets.problems }
            return try ConfigurationDifference.changes(from: stored, to: desired, columns: []).map(\.line)
        }
        let name = "DEMO_FACEBOOK_WEBHOOK_VERIFY_TOKEN"
        let variable = #","webhookVerifyToken":{"env":"\#(name)"}"#
        #expect(try actions(variable, [name: Self.token]) == [])
        let place = "/providers/facebook/webhookVerifyToken"
        #expect(
            try actions(#","webhookVerifyToken":{"env":"TOKEN"}"#, ["TOKEN": Self.token])
                == [#"application.variables : {"\#(place)":"\#(name)"} -> {"\#(place)":"TOKEN"}"#]
        )
        #expect(try actions(#","webhookVerifyToken":"\#(Self.token)""#) == [])
        let hidden = #"{"enabled":false,"webhookVerifyToken":"•••"}"#
        #expect(
            try actions(variable, [name: "CANARY-another-token"])
                == ["provider.facebook.set facebook: \(hidden) -> \(hidden)"]
        )
        let gone = #"{"enabled":false,"webhookVerifyToken":null}"#
        for given in ["", #","webhookVerifyToken":null"#] {
            #expect(try actions(given) == ["provider.facebook.set facebook: \(hidden) -> \(gone)"])
        }
        for environment in [[:], [name: "CANARY short"], [name: String(repeating: "CANARY", count: 30)]] {
            let problems = #expect(throws: DocumentProblems.self) { try actions(variable, environment) }
            #expect(problems?.problems.map(\.pointer.text) == ["/providers/facebook/webhookVerifyToken/env"])
            #expect(problems?.description.contains("CANARY") == false)
        }
        let short = #expect(throws: DocumentProblems.self) { try actions(#","webhookVerifyToken":"CANARY""#) }
        #expect(short?.problems.map(\.pointer.text) == ["/providers/facebook/webhookVerifyToken"])
        #expect(short?.description.contains("CANARY") == false)
    }
}
