import Federation
import Vocabulary
import NIOConcurrencyHelpers
import TestSupport
import Testing

@Suite("Master keys")
struct SecretRotationTests {
    @Test("all secrets come under the new key, in steps; afterwards the old one is not needed")
    func rotate() async throws {
        try await Office.lend { office in
            let apps = (1...60).map { #"{"appId":"\#($0)","appSecret":"secret\#($0)"}"# }.joined(separator: ",")
            let put = try await office.administration.putProvider(
                .facebook,
                of: "demo",
                json(#"{"apps":[\#(apps)]}"#),
                if: .any,
                by: Office.actor
            )
            let both = try office.with(keys: [Office.newKey, Office.oldKey])
            let steps = NIOLockedValueBox<[Int]>([])
            let count = try await both.rotateSecrets(by: Office.actor) { done in
                steps.withLockedValue { $0.append(done) }
            }
            #expect(count == 60)
            #expect(steps.withLockedValue { $0 } == [50, 60])
            #expect(try await both.rotateSecrets(by: Office.actor) { _ in } == 0)
            let new = try office.with(keys: [Office.newKey])
            // The same secret under a key that is at hand changes nothing: it opens.
            let after = try await new.provider(.facebook, of: "demo")
            #expect(after.tag != put.tag)
            let same = try await new.putProvider(
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
            _ = try await office.administration.putProvider(
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
                try await both.rotateSecrets(by: Office.actor) { _ in }
            }
            #expect(refused?.reason == .providerMisconfigured)
            #expect(refused?.message.contains("lost") == true)
            let secrets = try await both.secrets().object
            let known = secrets?["secrets"]?.array?.map { $0.object?["known"] }
            #expect(Set(known?.compactMap { $0?.bool } ?? []) == [true, false])
            let keyIDs = secrets?["secrets"]?.array?.map { $0.object?["keyId"] } ?? []
            #expect(keyIDs.contains(secrets?["current"]))
        }
    }

    @Test("a secret that was changed by other means ends it, and is named")
    func broken() async throws {
        try await Office.lend { office in
            _ = try await office.administration.putProvider(
                .facebook,
                of: "demo",
                json(#"{"apps":[{"appId":"7","appSecret":"one"}]}"#),
                if: .any,
                by: Office.actor
            )
            try await office.database.psql("update federation.provider_apps set secret = 'x'")
            let both = try office.with(keys: [Office.newKey, Office.oldKey])
            let refused = try await failure {
                try await both.rotateSecrets(by: Office.actor) { _ in }
            }
            #expect(refused?.reason == .providerMisconfigured)
            #expect(refused?.message.contains("app 7 at facebook of demo") == true)
        }
    }
}
