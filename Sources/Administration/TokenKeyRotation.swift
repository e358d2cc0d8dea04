import Applications
import Description
package import Domain
package import Encodings
import Secrets
import Store

/// Lists and replaces the keys of signed tokens, by which an application's other services verify users.
package struct TokenKeyRotation: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    /// The cached configuration of this process; nil in a process that serves no requests.
    let directory: ApplicationDirectory?

    /// Returns the keys of signed tokens, the newest first.
    ///
    /// The shape is
    /// `{"items": [{"id", "application", "algorithm", "created", "retired", "signs", "published", "keyId"}]}`.
    /// `application` is null for a key from the time when all applications shared one key.
    package func list() async throws(Failure) -> JSONValue {
        let keys = try await store.tokenKeys()
        let published = Set(TokenKeyRing.published(among: keys).map(\.id))
        let signing = Set(
            Set(keys.map(\.application)).flatMap { application in
                let own = keys.filter { $0.application == nil || $0.application == application }
                return TokenAlgorithm.allCases.compactMap { TokenKeyRing.signing(among: own, by: $0)?.id }
            }
        )
        return .object([
            "items": .array(
                keys.reversed().map { key in
                    .object([
                        "id": .string(key.id),
                        "application": key.application.map { .string($0.text) } ?? .null,
                        "algorithm": .string(key.algorithm.rawValue),
                        "created": .integer(key.created),
                        "retired": key.retired.map(JSONValue.integer) ?? .null,
                        "signs": .bool(signing.contains(key.id)), "published": .bool(published.contains(key.id)),
                        "keyId": .string(key.secret.keyID),
                    ])
                }
            )
        ])
    }

    /// Creates new keys of signed tokens.
    ///
    /// Other services cache the public keys to verify tokens. Until all of them know a new key, the former key
    /// continues to sign. `signsInSeconds` is the time until the new key signs.
    ///
    /// This process drops its cached keys before it returns.
    ///
    /// - Parameters:
    ///   - document: `{"application"?, "atOnce"?}`. Without an application, each application that issues signed tokens
    ///     or has a key gets new keys: one for each algorithm of its keys, and for ES256 if it has no key. `atOnce`
    ///     removes all former keys, and so invalidates the tokens that they signed.
    ///   - actor: The operator.
    /// - Returns: `{"atOnce", "items": [{"application", "algorithm", "id", "signsInSeconds"}]}`.
    /// - Throws: `document_invalid`, `store_unavailable` and similar errors. Keys that were replaced before an error
    ///   stay replaced.
    package func rotate(_ document: JSONValue, by actor: ChangeAuthor) async throws(Failure) -> JSONValue {
        var problems = DocumentProblems()
        var atOnce = false
        var named: ApplicationID?
        guard let members = document.object?.members else {
            throw Failure(.documentInvalid, "The body must be an object, such as {} or {\"atOnce\": true}.")
        }
        for member in members {
            let place = JSONPointer() / member.key
            switch member.key {
            case "application":
                guard !member.value.isNull else { break }
                if let id = member.value.string.flatMap({ ApplicationID($0) }) {
                    named = try await store.application(id)?.id
                }
                if named == nil { problems.add(place, "must be the id of an existing application") }
            case "atOnce": problems.take(member.value, at: place, into: &atOnce)
            default: problems.add(unknown: member.key, at: place, among: ["application", "atOnce"])
            }
        }
        guard problems.isEmpty else { throw problems.failure }
        let applications = if let named { [named] } else { try await applicationsWithTokens() }
        // The cache is cleared after an error or a lost response, too: keys may have changed.
        defer { directory?.tokenKeys.forget() }
        var items: [JSONValue] = []
        for application in applications {
            let used = Set(try await store.tokenKeys(of: application).map(\.algorithm))
            for algorithm in used.isEmpty ? [.es256] : TokenAlgorithm.allCases.filter(used.contains) {
                let key = try TokenKey(algorithm)
                try await store.rotateTokenKeys(
                    to: key.stored(for: application, under: masterKeys),
                    atOnce: atOnce,
                    keptSeconds: Int64(TokenKeyRing.storedSeconds(of: algorithm)),
                    by: actor
                )
                let keys = try await store.tokenKeys(of: application)
                let signsAtOnce = TokenKeyRing.signing(among: keys, by: algorithm)?.id == key.id
                items.append(
                    .object([
                        "application": .string(application.text), "algorithm": .string(algorithm.rawValue),
                        "id": .string(key.id),
                        "signsInSeconds": .integer(signsAtOnce ? 0 : Int64(TokenKeyRing.overlapSeconds)),
                    ])
                )
            }
        }
        return .object(["atOnce": .bool(atOnce), "items": .array(items)])
    }

    /// Returns the applications that issue signed tokens or have a key, in the order of their ids.
    private func applicationsWithTokens() async throws(Failure) -> [ApplicationID] {
        let haveKeys = Set(try await store.tokenKeys().compactMap(\.application))
        var found: [ApplicationID] = []
        var last: ApplicationID?
        repeat {
            let some = try await store.applications(after: last, limit: 100)
            found += some.filter { stored in
                let settings = try? SettingsDocument.parse(stored: stored.settings)
                return settings?.tokens.enabled ?? false || haveKeys.contains(stored.id)
            }.map(\.id)
            last = some.last?.id
        } while last != nil
        return found
    }
}
