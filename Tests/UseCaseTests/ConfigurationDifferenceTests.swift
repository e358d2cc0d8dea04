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

@Suite("From what an application is to what it shall be")
struct ConfigurationDifferenceTests {
    /// An application with something in every part.
    private static let sample = Sample(
        settings: #"{"sessionIdleSeconds":3600,"hostNames":["a.example"]}"#,
        keys: ["ios", "web"],
        apps: ["1", "2"],
        properties: #"{"nick":{"type":"STRING","clientMappable":true},"points":{"type":"INT"},"day":{"type":"DATE"}}"#,
        mapping: #"[{"from":"name","to":"nick"},{"from":"birthday","to":"day"}]"#,
        dynamicNames: ["dyn"]
    )

    /// Returns the changes as lines: `action target: from -> to`.
    private static func lines(
        _ sample: Sample = sample,
        columns: [LiveColumn] = [],
        _ edit: (inout DesiredApplication) throws -> Void
    ) throws -> [String] {
        let stored = try sample.stored()
        var desired = DesiredApplication(stored, kinds: try .outOfReach())
        try edit(&desired)
        return try ConfigurationDifference.changes(from: stored, to: desired, columns: columns).map(\.line)
    }

    private static func pointers(
        _ sample: Sample = sample,
        columns: [LiveColumn] = [],
        _ edit: (inout DesiredApplication) throws -> Void
    ) throws -> [String] {
        let stored = try sample.stored()
        var desired = DesiredApplication(stored, kinds: try .outOfReach())
        try edit(&desired)
        return ConfigurationDifference.problems(from: stored, to: desired, columns: columns).problems
            .map(\.pointer.text)
    }

    @Test("what is so already needs nothing")
    func nothing() throws {
        #expect(try Self.lines { _ in }.isEmpty)
        #expect(try Self.lines(Sample()) { _ in }.isEmpty)
    }

    @Test("an application that is not there is made, and then everything in it")
    func creation() throws {
        let desired = try DesiredApplication(Self.sample.stored(), kinds: .outOfReach())
        var new = DesiredApplication(id: desired.id, name: "New", schema: "people", kinds: desired.kinds)
        new.keys = desired.keys
        new.facebook = DesiredApplication.Provider(
            kind: .facebook,
            enabled: false,
            options: FacebookOptions.description.document(of: FacebookOptions()),
            apps: []
        )
        new.properties = desired.properties
        new.mapping = desired.mapping
        let steps = try ConfigurationDifference.changes(from: nil, to: new, columns: [])
        #expect(
            steps.map(\.action) == [
                "application.create", "key.add", "key.add", "provider.facebook.set", "property.declare",
                "property.declare", "property.declare", "mapping.facebook.set",
            ]
        )
        #expect(steps.first?.to?.object?["schema"]?.string == "people")
        #expect(steps.first?.to?.object?["settings"] == SettingsDocument.document(of: ApplicationSettings()))
        #expect(steps.allSatisfy { $0.from == nil })
    }

    @Test("name and settings")
    func application() throws {
        #expect(try Self.lines { $0.name = "Other" } == [#"application.rename : "Demo" -> "Other""#])
        #expect(
            try Self.lines {
                $0.settings.multipleLogins = false
                $0.settings.hostNames = []
            } == [
                #"application.settings : {"multipleLogins":true,"hostNames":["a.example"]} -> {"multipleLogins":false,"hostNames":[]}"#
            ]
        )
        // Another version may understand these settings, so a change of something else must keep them.
        let later = Sample(settings: #"{"speed":9}"#)
        #expect(try Self.lines(later) { $0.name = "Other" } == [#"application.rename : "Demo" -> "Other""#])
        let broken = Sample(settings: #"{"banDays":-9}"#)
        #expect(try Self.lines(broken) { $0.name = "Other" } == [#"application.rename : "Demo" -> "Other""#])
        let mended = try Self.lines(broken) { $0.settings = ApplicationSettings() }
        #expect(mended.map { $0.prefix(40) } == [#"application.settings : {"banDays":-9} ->"#])
    }

    @Test("keys are told by their text, labels are names for them")
    func keys() throws {
        let (ios, web, new) = (Sample.key(of: "ios"), Sample.key(of: "web"), Sample.key(of: "new"))
        func lines(_ keys: [(String, String)]) throws -> [String] {
            try Self.lines { desired in
                desired.keys = keys.map { DesiredApplication.Key(label: $0.0, hash: Digest.sha256($0.1)) }
            }
        }
        #expect(try lines([("web", web), ("ios", ios)]).isEmpty, "their order means nothing")
        #expect(
            try lines([("ios", ios), ("web", web), ("tv", new)]) == [#"key.add tv: nil -> "•••""#]
        )
        #expect(try lines([("ios", ios)]) == [#"key.revoke web: "•••" -> nil"#])
        #expect(try lines([("ios", new), ("web", web)]) == [#"key.replace ios: "•••" -> "•••""#])
        #expect(try lines([("phone", ios), ("web", web)]) == [#"key.relabel ios: "ios" -> "phone""#])
        #expect(try lines([]).count == 2)
        // An API key whose label becomes that of another one: no step may use a label or a key that is still taken.
        #expect(
            try lines([("ios", web), ("web", ios)]) == [
                #"key.revoke ios: "•••" -> nil"#, #"key.revoke web: "•••" -> nil"#,
                #"key.add ios: nil -> "•••""#, #"key.add web: nil -> "•••""#,
            ]
        )
        #expect(
            try lines([("ios", web)]) == [#"key.revoke web: "•••" -> nil"#, #"key.replace ios: "•••" -> "•••""#]
        )
        #expect(
            try lines([("ios", web), ("web", new)]) == [
                #"key.revoke web: "•••" -> nil"#, #"key.replace ios: "•••" -> "•••""#, #"key.add web: nil -> "•••""#,
            ]
        )
    }

    @Test("whatever keys become, every step finds what it works on and leaves no text under two labels")
    func keysAtRandom() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed)
        for _ in 0..<2_000 {
            func some() -> [String: UInt8] {
                var texts: [UInt8] = [1, 2, 3, 4]
                texts.shuffle(using: &random)
                return Dictionary(
                    uniqueKeysWithValues: zip(["a", "b", "c"].filter { _ in Bool.random(using: &random) }, texts)
                )
            }
            // Before the change the odd keys are server keys; after the change those above 2 are.
            let (before, after) = (some(), some())
            let steps = KeySteps.steps(
                from: before.map { StoredApplication.Key(label: $0, hash: [$1], created: 0, server: $1 % 2 == 1) },
                to: after.map { DesiredApplication.Key(label: $0, hash: [$1], server: $1 > 2) }
            )
            var servers = Set(before.filter { $0.value % 2 == 1 }.keys)
            var keys = before
            for step in steps {
                switch step.change {
                case .addKey(let label, let hash, let server):
                    #expect(keys[label] == nil, "seed \(seed)")
                    keys[label] = hash.first
                    if server { servers.insert(label) }
                case .changeKey(let label, let server):
                    #expect(keys[label] != nil && servers.contains(label) != server, "seed \(seed)")
                    if server { servers.insert(label) } else { servers.remove(label) }
                case .replaceKey(let label, let hash):
                    #expect(keys[label] != nil, "seed \(seed)")
                    keys[label] = hash.first
                case .relabelKey(let from, let to):
                    #expect(keys[to] == nil, "seed \(seed)")
                    keys[to] = keys.removeValue(forKey: from)
                    if servers.remove(from) != nil { servers.insert(to) }
                case .revokeKey(let label):
                    #expect(keys.removeValue(forKey: label) != nil, "seed \(seed)")
                    servers.remove(label)
                default: Issue.record("\(step.action)")
                }
                #expect(Set(keys.values).count == keys.count, "seed \(seed)")
            }
            #expect(keys == after, "seed \(seed)")
            #expect(servers == Set(after.filter { $0.value > 2 }.keys), "seed \(seed)")
        }
    }

    @Test("the provider and its apps; a secret shows only that it is another one")
    func facebook() throws {
        let other = EncryptedSecret(bytes: [1, 2, 3], keyID: "k")
        #expect(
            try Self.lines { $0.facebook?.facebookOptions.proof = .classic } == [
                #"provider.facebook.set facebook: {"enabled":true,"proof":"timed"} -> {"enabled":true,"proof":"classic"}"#
            ]
        )
        #expect(
            try Self.lines { $0.facebook?.apps.reverse() } == [
                #"provider.facebook.apps facebook: [{"appId":"1"},{"appId":"2"}] -> [{"appId":"2"},{"appId":"1"}]"#
            ]
        )
        #expect(
            try Self.lines { $0.facebook?.apps[1].secret = .encrypted(other) } == [
                #"provider.facebook.apps facebook: [{"appId":"1"},{"appId":"2"}] -> [{"appId":"1"},{"appId":"2","appSecret":"•••"}]"#
            ]
        )
        #expect(
            try Self.lines { $0.facebook?.apps[1].configID = "77" } == [
                #"provider.facebook.apps facebook: [{"appId":"1"},{"appId":"2"}] -> [{"appId":"1"},{"appId":"2","configId":"77"}]"#
            ]
        )
        #expect(
            try Self.lines { $0.facebook?.apps.removeLast() } == [
                #"provider.facebook.apps facebook: [{"appId":"1"},{"appId":"2"}] -> [{"appId":"1"}]"#
            ]
        )
        #expect(
            try Self.lines { $0.facebook = nil } == [
                #"provider.facebook.remove facebook: {"enabled":true,"apps":[{"appId":"1"},{"appId":"2"}]} -> nil"#
            ]
        )
        let app = DesiredApplication.App(id: try #require(ProviderAppID("3")), secret: .unchanged)
        #expect(try Self.pointers { $0.facebook?.apps.append(app) } == ["/providers/facebook/apps/2/appSecret"])
    }

    @Test("a secret that opens to the given one is unchanged, whatever master key it is under")
    func secrets() throws {
        let id = try #require(ApplicationID("demo"))
        let app = try #require(ProviderAppID("1"))
        let current = try Sample.masterKeys()
        let next = MasterKeys(current: try #require(Sample.otherMasterKey), previous: [current.current])
        let stranger = MasterKeys(current: try #require(Sample.otherMasterKey))
        let stored = try Self.sample.stored()
        func isUnchanged(_ keys: MasterKeys, _ secret: Secret, _ app: ProviderAppID) -> Bool {
            guard case .unchanged = keys.desired(secret, of: app, at: .facebook, in: id, stored: stored) else {
                return false
            }
            return true
        }
        let secret = Sample.secret(of: "1")
        #expect(isUnchanged(current, secret, app))
        #expect(isUnchanged(next, secret, app), "the former key is at hand")
        #expect(!isUnchanged(stranger, secret, app))
        #expect(!isUnchanged(current, Sample.secret(of: "2"), app))
        #expect(!isUnchanged(current, Sample.secret(of: "3"), try #require(ProviderAppID("3"))))
        guard
            case .encrypted(let encrypted) = next.desired(Secret("new"), of: app, at: .facebook, in: id, stored: stored)
        else {
            Issue.record("not sealed")
            return
        }
        #expect(encrypted.keyID == next.current.id)
    }

    @Test("no step shows a key, a secret, a hash or a encrypted secret")
    func nothingSecret() throws {
        let stored = try Self.sample.stored()
        var desired = DesiredApplication(stored, kinds: try .outOfReach())
        let masterKeys = try Sample.masterKeys()
        let secret = Secret("canary-new-secret")
        desired.keys = [DesiredApplication.Key(label: "ios", hash: Digest.sha256("canary-new-key"))]
        for index in desired.facebook?.apps.indices ?? 0..<0 {
            let app = try #require(desired.facebook?.apps[index].id)
            let id = desired.id
            desired.facebook?.apps[index].secret = masterKeys.desired(
                secret,
                of: app,
                at: .facebook,
                in: id,
                stored: stored
            )
        }
        var steps = try ConfigurationDifference.changes(from: stored, to: desired, columns: [])
        steps += try ConfigurationDifference.changes(
            from: stored,
            to: DesiredApplication(stored, kinds: try .outOfReach()).emptied,
            columns: []
        )
        steps += ConfigurationDifference.deletion(of: stored)
        #expect(steps.count >= 7)
        let hashes = stored.keys.map(\.hash) + desired.keys.map(\.hash)
        let encrypted = (stored.facebook?.apps ?? []).map(\.secret.bytes)
        for step in steps {
            let shown = step.line
            #expect(!shown.contains("canary"))
            for bytes in hashes + encrypted {
                let hex = bytes.prefix(4).map { String($0, radix: 16) }.joined()
                #expect(!shown.contains(hex) && !shown.contains("\(bytes[0]),\(bytes[1])"))
            }
        }
    }

    @Test("what is wrong is refused by its place in a document, and then nothing is done")
    func refused() throws {
        #expect(try Self.pointers { $0.name = "" } == ["/name"])
        #expect(try Self.pointers { $0.schema = "elsewhere" } == ["/schema"])
        #expect(
            try Self.pointers { $0.keys[1].label = "ios" } == ["/keys/1/label"]
        )
        #expect(try Self.pointers { $0.keys[1].hash = $0.keys[0].hash } == ["/keys/1/key"])
        #expect(try Self.pointers { $0.settings.sessionIdleSeconds = 31_000_000 } == ["/settings/sessionIdleSeconds"])
        #expect(try Self.pointers { $0.facebook?.apps = [] } == ["/providers/facebook/apps"])
        #expect(throws: DocumentProblems.self) { try Self.lines { $0.name = "" } }
    }
}

extension PlannedChange {
    /// The visible parts of the change as a line.
    var line: String { "\(action) \(target ?? ""): \(from?.text ?? "nil") -> \(to?.text ?? "nil")" }
}

extension DesiredApplication {
    /// The same application without anything that can be removed.
    var emptied: DesiredApplication {
        var other = self
        other.keys = []
        other.facebook = nil
        other.properties = Property.builtIn
        other.mapping = .array([])
        return other
    }
}
