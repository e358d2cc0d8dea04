@testable import Accounts
@testable import Administration
import Applications
import Domain
import Encodings
import Facebook
import FoundationEssentials
@testable import Logins
import NIOConcurrencyHelpers
@testable import Secrets
import Store
import Testing
import TestSupport

@Suite("Master keys")
struct SecretRotationTests {
    @Test("all secrets come under the new key, in steps; afterwards the old one is not needed")
    func rotate() async throws {
        try await Office.lend { office in
            let apps = (1...60).map { #"{"appId":"\#($0)","appSecret":"secret\#($0)"}"# }.joined(separator: ",")
            let put = try await office.administration.providers.put(
                .facebook,
                of: "demo",
                json(#"{"apps":[\#(apps)]}"#),
                if: .any,
                by: Office.actor
            )
            let both = try office.with(keys: [Office.newKey, Office.oldKey])
            let steps = NIOLockedValueBox<[Int]>([])
            let count = try await both.secrets.rotate(by: Office.actor) { done in
                steps.withLockedValue { $0.append(done) }
            }
            #expect(count == 60)
            #expect(steps.withLockedValue { $0 } == [50, 60])
            #expect(try await both.secrets.rotate(by: Office.actor) { _ in } == 0)
            let new = try office.with(keys: [Office.newKey])
            // The same secret changes nothing while its master key is available, since it can be decrypted and
            // compared.
            let after = try await new.providers.read(.facebook, of: "demo")
            #expect(after.tag != put.tag)
            let same = try await new.providers.put(
                .facebook,
                of: "demo",
                json(#"{"apps":[\#(apps)]}"#),
                if: .any,
                by: Office.actor
            )
            #expect(same.tag == after.tag)
        }
    }

    @Test("a secret under a key that is not at hand is named, and all others are done")
    func unknownKey() async throws {
        try await Office.lend { office in
            _ = try await office.administration.providers.put(
                .facebook,
                of: "demo",
                json(#"{"apps":[{"appId":"1","appSecret":"one"},{"appId":"2","appSecret":"two"}]}"#),
                if: .any,
                by: Office.actor
            )
            try await office.database.psql(
                "update federation.provider_apps set secret_key_id = 'lost' where app_id = '1'"
            )
            let both = try office.with(keys: [Office.newKey, Office.oldKey])
            let refused = try await failure {
                try await both.secrets.rotate(by: Office.actor) { _ in }
            }
            #expect(refused?.reason == .providerMisconfigured)
            #expect(refused?.message.contains("lost") == true)
            let secrets = try await both.secrets.count().object
            let known = secrets?["secrets"]?.array?.map { $0.object?["known"] }
            #expect(Set(known?.compactMap { $0?.bool } ?? []) == [true, false])
            let keyIDs = secrets?["secrets"]?.array?.map { $0.object?["keyId"] } ?? []
            #expect(keyIDs.contains(secrets?["current"]))
        }
    }

    @Test("a secret that was changed by other means ends it, and is named")
    func broken() async throws {
        try await Office.lend { office in
            _ = try await office.administration.providers.put(
                .facebook,
                of: "demo",
                json(#"{"apps":[{"appId":"7","appSecret":"one"}]}"#),
                if: .any,
                by: Office.actor
            )
            try await office.database.psql("update federation.provider_apps set secret = 'x'")
            let both = try office.with(keys: [Office.newKey, Office.oldKey])
            let refused = try await failure {
                try await both.secrets.rotate(by: Office.actor) { _ in }
            }
            #expect(refused?.reason == .providerMisconfigured)
            #expect(refused?.message.contains("app 7 at facebook of demo") == true)
        }
    }

    @Test("kept tokens of every provider come under the new key and open at their identities")
    func tokens() async throws {
        try await Office.lend { office in
            let demo = try #require(ApplicationID("demo"))
            let (old, new) = (
                try MasterKey(base64: Secret(Office.oldKey)), try MasterKey(base64: Secret(Office.newKey))
            )
            let identities = try [
                ("facebook", "42", "1001"), ("other", "42", "1001"), ("other", "https://sso.example.com/", "a/b"),
                ("staff-sso", "com.example.app", "001999.4f1c0e8a.0731"),
            ].map { provider, app, subject in
                IdentityKey(
                    provider: try #require(ProviderName(provider)),
                    app: try #require(ProviderAppID(app)),
                    subject: try #require(Subject(subject))
                )
            }
            let user = UUID()
            try await office.database.psql("insert into demo.users (object_id) values ('\(user)')")
            for identity in identities {
                let place = MasterKey.Place.providerToken(application: demo, identity: identity)
                let encrypted = Hexadecimal.encode(old.encrypt(Secret("token of \(identity.path)"), for: place))
                try await office.database.psql(
                    """
                    insert into demo.identities
                        (provider, provider_app, subject, object_id, token, token_key_id, token_kind)
                    values ('\(identity.provider)', '\(identity.app)', '\(identity.subject)', '\(user)', '\\x\(encrypted)',
                        '\(old.id)', 'access')
                    """
                )
            }
            let both = try office.with(keys: [Office.newKey, Office.oldKey])
            #expect(try await both.secrets.rotate(by: Office.actor) { _ in } == identities.count)
            let application = try Application(try #require(try await office.store.application(demo)))
            let kept = try await office.store.keptIdentities(of: ObjectID(user), in: application)
            #expect(Set(kept.map(\.key)) == Set(identities))
            let keys = MasterKeys(current: new)
            for kept in kept {
                #expect(try keys.open(kept, of: demo).text.reveal() == "token of \(kept.key.path)")
            }
        }
    }

    @Test("what was encrypted for an identity of digits opens on, and no place is another's")
    func places() throws {
        func place(_ provider: String, _ app: String, _ subject: String) throws -> [UInt8] {
            let identity = IdentityKey(
                provider: try #require(ProviderName(provider)),
                app: try #require(ProviderAppID(app)),
                subject: try #require(Subject(subject))
            )
            let demo = try #require(ApplicationID("demo"))
            return MasterKey.Place.providerToken(application: demo, identity: identity).associatedData
        }
        #expect(try place("facebook", "42", "1001") == Array("identities\ndemo\nfacebook/42/1001\ntoken".utf8))
        #expect(try place("other", "a/b", "c") != place("other", "a", "b/c"))
    }
}
