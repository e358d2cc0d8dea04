package import Domain
package import Encodings
import Secrets
import Store

/// The count of encrypted values, and the rotation of the master key.
package struct SecretRotation: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let options: SecretOptionResealing

    /// Returns the numbers of encrypted values under each master key.
    ///
    /// The shape is `{"current": keyId, "accepted": [keyId], "secrets": [{"keyId", …, "known"}]}`, with a number for
    /// each ``SealedKind``.
    package func count() async throws(Failure) -> JSONValue {
        var counts: [String: [SealedKind: Int]] = [:]
        for (keyID, count) in try await options.countByKey() {
            counts[keyID, default: [:]][.secrets, default: 0] += count
        }
        for place in [nil] + (try await store.applicationPlaces()) {
            for column in SealedColumn.all where column.isOfUsers == (place != nil) {
                for (keyID, count) in try await store.sealed(column, of: place) {
                    counts[keyID, default: [:]][column.kind, default: 0] += count
                }
            }
        }
        return .object([
            "current": .string(masterKeys.current.id),
            "accepted": .array(masterKeys.ids.map(JSONValue.string)),
            "secrets": .array(
                counts.sorted { $0.key < $1.key }.map { keyID, counts in
                    let numbers = SealedKind.allCases.map { kind in
                        JSONObject.Member(kind.rawValue, .integer(Int64(counts[kind] ?? 0)))
                    }
                    let isKnown = JSONValue.bool(masterKeys.ids.contains(keyID))
                    return .object(
                        JSONObject([.init("keyId", .string(keyID))] + numbers + [.init("known", isKnown)])
                    )
                }
            ),
        ])
    }

    /// Re-encrypts everything that is not under the current master key, in small steps.
    ///
    /// An interrupted rotation continues. The service's own values come first, column by column; secret options follow
    /// app secrets and include those stored as plain text. Values of users follow, application by application. A login
    /// code expires within a minute and stays under its key.
    ///
    /// - Parameters:
    ///   - actor: The operator.
    ///   - progress: Receives the number of re-encrypted values after each step.
    /// - Returns: The number of re-encrypted values.
    /// - Throws: `provider_misconfigured` when the database knows no available master key, or when a secret is under an
    ///   unavailable one; `store_unavailable` when an application's own database does not respond. The other values are
    ///   done then.
    package func rotate(
        by actor: Actor,
        progress: @Sendable (Int) -> Void
    ) async throws(Failure) -> Int {
        let (masterKeys, store) = (masterKeys, store)
        let current = masterKeys.current.id
        let former = masterKeys.previous.map(\.id).filter { $0 != current }
        try await store.admit(masterKeys, registering: true)
        var done = 0
        var left: [(keyID: String, count: Int)] = []
        func sealAll(
            _ step: () async throws -> Int,
            left count: () async throws(Failure) -> [(keyID: String, count: Int)]
        ) async throws(Failure) {
            var emptySteps = 0
            while true {
                let sealed = try await changing(step)
                done += sealed
                if sealed > 0 { progress(done) }
                let others = try await count().filter { $0.keyID != current }
                guard others.contains(where: { former.contains($0.keyID) }) else { return left += others }
                // A step skips rows that are being changed.
                emptySteps = sealed > 0 ? 0 : emptySteps + 1
                guard emptySteps < Self.mostEmptySteps else {
                    throw Failure(
                        .conflict,
                        "Some secrets are being changed for longer than this waits. Rotate again to do the rest."
                    )
                }
                if sealed == 0 { try? await Task.sleep(for: .milliseconds(200)) }
            }
        }
        func sealColumns(of place: ApplicationPlace?) async throws(Failure) {
            for column in SealedColumn.all where column.isRotated && column.isOfUsers == (place != nil) {
                try await sealAll {
                    try await store.reseal(
                        column,
                        of: place,
                        notUnder: current,
                        among: former,
                        limit: Self.secretsInAStep,
                        by: actor,
                        reseal: masterKeys.resealed
                    )
                } left: { () throws(Failure) in
                    try await store.sealed(column, of: place)
                }
                guard column.isConfiguration else { continue }
                try await sealAll {
                    try await options.reseal(by: actor)
                } left: { () throws(Failure) in
                    try await options.countByKey()
                }
            }
        }
        try await sealColumns(of: nil)
        var unreached: [(application: ApplicationID, failure: Failure)] = []
        for place in try await store.applicationPlaces() {
            do throws(Failure) { try await sealColumns(of: place) } catch {
                guard place.isElsewhere, error.reason == .storeUnavailable else { throw error }
                unreached.append((place.id, error))
            }
        }
        if let first = unreached.first { throw .unreached(unreached.map(\.application), cause: first.failure.cause) }
        guard left.isEmpty else { throw .unknownMasterKeys(left) }
        // An instance with only a former key now encrypts nothing: other instances could not decrypt it.
        try await store.forgetMasterKeys(otherThan: current, by: actor)
        return done
    }

    /// Registers the current master key in the database, although no key that the database knows is available.
    ///
    /// - Returns: Whether the key is new to the database.
    package func register(by actor: Actor) async throws(Failure) -> Bool {
        try await store.register(masterKey: masterKeys.current.id, by: actor)
    }

    /// The id of the master key that encrypts new values.
    package var currentID: String { masterKeys.current.id }

    private static let secretsInAStep = 50
    /// About five seconds.
    private static let mostEmptySteps = 25
}

extension MasterKeys {
    /// Returns the secret encrypted under the current key; nil when it cannot be decrypted.
    fileprivate func resealed(_ value: SealedValue) -> SealedSecret? {
        let place = MasterKey.Place(of: value)
        return open(value.secret, at: place).map { seal($0, for: place) }
    }
}

extension Failure {
    /// Returns the error for applications whose own databases did not respond.
    fileprivate static func unreached(_ applications: [ApplicationID], cause: String?) -> Failure {
        Failure(
            .storeUnavailable,
            """
            What is sealed of the users of \(applications.map(\.text).joined(separator: ", ")) could not be reached, \
            and is under the former master key still; keep that key. All others are done. Rotate again when their \
            databases answer.
            """,
            cause: cause
        )
    }

    /// Returns the error for secrets that no available master key decrypts.
    fileprivate static func unknownMasterKeys(_ left: [(keyID: String, count: Int)]) -> Failure {
        let list = left.map { "\($0.count) under \($0.keyID)" }.joined(separator: ", ")
        return Failure(
            .providerMisconfigured,
            """
            Some secrets are under master keys that are not at hand: \(list). Give the key as \
            FEDERATION_MASTER_KEY_PREVIOUS and rotate again, or set these secrets anew; of kept tokens each login brings a new one, and a password \
            can be reset. All \
            others are done.
            """,
            details: ["keyIds": .array(left.map { .string($0.keyID) })]
        )
    }
}
