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
import Twitter

/// An application as the database may hold it, built part by part.
///
/// The secrets are known: ``secret(of:)`` and ``key(of:)``.
struct Sample {
    var id = "demo"
    var name = "Demo"
    var schema: String?
    /// The settings as this version stores them; without `undeclaredProperties` they are those of a former version.
    var settings = #"{"undeclaredProperties":null}"#
    var keys: [String] = []
    var apps: [String]? = nil
    /// The consumer keys of a provider `twitter`.
    var consumers: [String] = []
    var enabled = true
    var proof = ProofForm.timed
    /// The provider's options, as the database stores them.
    var options = "{}"
    /// The token that Facebook repeats when it sets up the webhook, stored encrypted.
    var verifyToken: String?
    /// The properties, in the form of a document's `properties`.
    var properties = "{}"
    var mapping: String? = nil
    var dynamicNames: [String] = []

    static let masterKey = try? MasterKey(base64: Secret("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="))
    static let otherMasterKey = try? MasterKey(base64: Secret("MTEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="))

    static func masterKeys() throws -> MasterKeys { MasterKeys(current: try #require(masterKey)) }

    static func secret(of app: String) -> Secret { Secret("canary-secret-of-\(app)") }

    static func key(of label: String) -> String {
        "canary-key-" + Digest.sha256(label).prefix(8).map { String($0, radix: 16) }.joined(separator: "-")
    }

    func stored(_ masterKeys: MasterKeys? = nil) throws -> StoredApplication {
        let id = try #require(ApplicationID(id))
        let masterKeys = try masterKeys ?? Self.masterKeys()
        func provider(_ kind: ProviderName, _ options: JSONValue, _ apps: [String]) throws -> StoredApplication.Provider
        {
            StoredApplication.Provider(
                kind: kind,
                enabled: enabled,
                options: options,
                apps: try apps.map { app in
                    let app = try #require(ProviderAppID(app))
                    let secret = masterKeys.desired(
                        Self.secret(of: app.text),
                        of: app,
                        at: kind,
                        in: id,
                        stored: nil
                    )
                    guard case .encrypted(let encrypted) = secret else { throw NotEncrypted() }
                    return StoredApplication.App(id: app, secret: encrypted, secretChanged: 0)
                }
            )
        }
        var providers: [ProviderName: StoredApplication.Provider] = [:]
        if let apps { providers[.facebook] = try provider(.facebook, try allOptions(of: id, masterKeys), apps) }
        if !consumers.isEmpty { providers[.twitter] = try provider(.twitter, .object([:]), consumers) }
        return StoredApplication(
            id: id,
            name: name,
            schema: schema ?? id.text,
            database: nil,
            revision: 7,
            settings: try json(settings),
            keys: keys.map { StoredApplication.Key(label: $0, hash: Digest.sha256(Self.key(of: $0)), created: 0) },
            providers: providers,
            providerKinds: providers.mapValues(\.kind),
            mappings: try mapping.map {
                [.facebook: StoredApplication.ActiveMapping(revision: 1, document: try json($0))]
            } ?? [:],
            properties: try Self.properties(properties),
            dynamicNames: Set(dynamicNames.compactMap { PropertyName($0) }),
            created: 0,
            updated: nil
        )
    }

    private func allOptions(of id: ApplicationID, _ masterKeys: MasterKeys) throws -> JSONValue {
        var members = try json(options).object?.members ?? []
        if proof != .timed { members.append(JSONObject.Member("proof", .string(proof.rawValue))) }
        if let verifyToken {
            let place = MasterKey.Place.secretOption(application: id, provider: .facebook, option: "webhookVerifyToken")
            let encrypted = StoredSecretOption(masterKeys.encrypt(Secret(verifyToken), for: place), changed: 1)
            members.append(JSONObject.Member("webhookVerifyToken", encrypted.json))
        }
        return .object(JSONObject(members))
    }

    private static func properties(_ text: String) throws -> [Property] {
        let declared = try (json(text).object?.members ?? []).map { member in
            Property(
                name: try #require(PropertyName(member.key)),
                type: try #require(member.value.object?["type"]?.string.flatMap(PropertyType.init(rawValue:))),
                required: member.value.object?["required"]?.bool ?? false,
                clientMappable: member.value.object?["clientMappable"]?.bool ?? false,
                indexed: member.value.object?["indexed"]?.bool ?? false
            )
        }
        return Property.builtIn.filter { builtIn in !declared.contains { $0.name == builtIn.name } } + declared
    }

    private struct NotEncrypted: Error {}
}

extension ApplicationDocument {
    /// Returns the problems of a document; nil when there are none.
    static func problems(_ text: String, origin: Origin = .file) -> DocumentProblems? {
        guard let kinds = try? ProviderKinds.outOfReach() else { return DocumentProblems(JSONPointer(), "no kinds") }
        do {
            _ = try ApplicationDocument(text: Array(text.utf8), origin: origin, kinds: kinds)
            return nil
        } catch {
            return error
        }
    }
}

// Shortcuts to the Facebook provider and its options, which most of these tests are about.

extension DesiredApplication {
    var facebook: Provider? {
        get { providers[.facebook] }
        set { providers[.facebook] = newValue }
    }

    var mapping: JSONValue {
        get { mappings[.facebook] ?? .array([]) }
        set { mappings[.facebook] = newValue }
    }
}

extension DesiredApplication.Provider {
    var facebookOptions: FacebookOptions {
        get { (try? FacebookOptions(options)) ?? FacebookOptions() }
        set {
            let document = FacebookOptions.description.document(of: newValue)
            options = Self.all(document) { options.object?[$0.name] }
        }
    }

    /// Returns all options as the database stores them.
    static func all(_ options: JSONValue, with secrets: (SecretOption) -> JSONValue?) -> JSONValue {
        (try? FacebookKind.outOfReach())?.options(options, with: secrets) ?? options
    }

    /// The verify token as the database stores it.
    var verifyToken: JSONValue {
        get { options.object?["webhookVerifyToken"] ?? .null }
        set {
            options = Self.all(FacebookOptions.description.document(of: facebookOptions)) { _ in newValue }
        }
    }
}

extension StoredApplication {
    var facebook: Provider? { providers[.facebook] }
    var mapping: JSONValue? { mappings[.facebook]?.document }
}

extension ApplicationDocument {
    var facebook: Provider? { providers[.facebook] }
    var mapping: JSONValue { mappings[.facebook] ?? .array([]) }
}

extension LoadedApplication {
    var facebook: FacebookSettings? { (configured(.facebook) as? FacebookProvider)?.settings }
}
