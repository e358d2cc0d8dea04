package import Domain
package import Encodings
import Secrets
import Store

/// Counts the encrypted values, and encrypts them again when the master key is rotated.
package struct SecretRotation: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let options: SecretOptionReencryption

    /// Returns the numbers of encrypted values under each master key.
    ///
    /// The shape is `{"current": keyId, "accepted": [keyId], "secrets": [{"keyId", …, "known"}]}`, with a number for
    /// each ``EncryptedKind``.
    package func count() async throws(Failure) -> JSONValue {
        var counts: [String: [EncryptedKind: Int]] = [:]
        for (keyID, count) in try await options.countByKey() {
            counts[keyID, default: [:]][.secrets, default: 0] += count
        }
        for place in [nil] + (try await store.applicationPlaces()) {
            for column in EncryptedColumn.all where column.isOfUsers == (place != nil) {
                for (keyID, count) in try await store.encrypted(column, of: place) {
                    counts[keyID, default: [:]][column.kind, default: 0] += count
                }
            }
        }
        return .object([
            "current": .string(masterKeys.current.id),
            "accepted": .array(masterKeys.ids.map(JSONValue.string)),
            "secrets": .array(
                counts.sorted { $0.key < $1.key }.map { keyID, counts in
                    let numbers = EncryptedKind.allCases.map { kind in
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

    /// Encrypts again, under the current master key, all values that another master key encrypts.
    ///
    /// The rotation consists of small steps. If it is interrupted, the next rotation continues with the remaining
    /// values.
    ///
    /// The order is:
    ///
    /// 1. The service's own values, column by column. After the app secrets come the secret options, even those that
    ///    are stored as plain text.
    /// 2. The values of users, application by application.
    ///
    /// One kind of value is not encrypted again: the code with which a client fetches the result of a login. The code
    /// expires within a minute.
    ///
    /// - Parameters:
    ///   - actor: The operator.
    ///   - progress: Receives the number of values encrypted so far, after each step.
    /// - Returns: The number of values that were encrypted again.
    /// - Throws: `provider_misconfigured` when the database has none of the given master keys registered, or when a
    ///   secret is encrypted with a master key that is not available; `store_unavailable` when an application's own
    ///   database does not respond. In the last two cases, all other values are done.
    package func rotate(
        by actor: ChangeAuthor,
        progress: @Sendable (Int) -> Void
    ) async throws(Failure) -> Int {
        let (masterKeys, store) = (masterKeys, store)
        let current = masterKeys.current.id
        let former = masterKeys.previous.map(\.id).filter { $0 != current }
        try await store.admit(masterKeys, registering: true)
        var done = 0
        var left: [(keyID: String, count: Int)] = []
        func encryptAll(
            _ step: () async throws -> Int,
            left count: () async throws(Failure) -> [(keyID: String, count: Int)]
        ) async throws(Failure) {
            var emptySteps = 0
            while true {
                let written = try await changing(step)
                done += written
                if written > 0 { progress(done) }
                let others = try await count().filter { $0.keyID != current }
                guard others.contains(where: { former.contains($0.keyID) }) else { return left += others }
                // A step skips rows that another transaction is changing.
                emptySteps = written > 0 ? 0 : emptySteps + 1
                guard emptySteps < Self.maxEmptySteps else {
                    throw Failure(
                        .conflict,
                        "Some secrets were locked by other changes. Rotate again to finish."
                    )
                }
                if written == 0 { try? await Task.sleep(for: .milliseconds(200)) }
            }
        }
        func encryptColumns(of place: ApplicationPlace?) async throws(Failure) {
            for column in EncryptedColumn.all where column.isRotated && column.isOfUsers == (place != nil) {
                try await encryptAll {
                    try await store.reencrypt(
                        column,
                        of: place,
                        notUnder: current,
                        among: former,
                        limit: Self.secretsInAStep,
                        by: actor,
                        reencrypt: masterKeys.reencrypted
                    )
                } left: { () throws(Failure) in
                    try await store.encrypted(column, of: place)
                }
                guard column.isConfiguration else { continue }
                try await encryptAll {
                    try await options.reencrypt(by: actor)
                } left: { () throws(Failure) in
                    try await options.countByKey()
                }
            }
        }
        try await encryptColumns(of: nil)
        var unreached: [(application: ApplicationID, failure: Failure)] = []
        for place in try await store.applicationPlaces() {
            do throws(Failure) { try await encryptColumns(of: place) } catch {
                guard place.isElsewhere, error.reason == .storeUnavailable else { throw error }
                unreached.append((place.id, error))
            }
        }
        if let first = unreached.first { throw .unreached(unreached.map(\.application), cause: first.failure.cause) }
        guard left.isEmpty else { throw .unknownMasterKeys(left) }
        // From now on, an instance that has only a former key encrypts nothing, since other instances could not decrypt
        // it.
        try await store.forgetMasterKeys(otherThan: current, by: actor)
        return done
    }

    /// Registers the current master key in the database, even if only other keys are registered there.
    ///
    /// - Returns: Whether the key is new to the database.
    package func register(by actor: ChangeAuthor) async throws(Failure) -> Bool {
        try await store.register(masterKey: masterKeys.current.id, by: actor)
    }

    /// The id of the master key that encrypts new values.
    package var currentID: String { masterKeys.current.id }

    private static let secretsInAStep = 50
    /// The number of steps in a row that may encrypt nothing before the rotation stops with an error.
    ///
    /// A step encrypts nothing if other transactions are changing all remaining rows. So many steps take about five
    /// seconds.
    private static let maxEmptySteps = 25
}

extension MasterKeys {
    /// Encrypts a stored secret again, under the current master key; nil if no available master key decrypts it.
    fileprivate func reencrypted(_ value: EncryptedValue) -> EncryptedSecret? {
        let place = MasterKey.Place(of: value)
        return open(value.secret, at: place).map { encrypt($0, for: place) }
    }
}

extension Failure {
    /// Returns the error for applications whose own databases did not respond.
    fileprivate static func unreached(_ applications: [ApplicationID], cause: String?) -> Failure {
        Failure(
            .storeUnavailable,
            """
            The databases of \(applications.map(\.text).joined(separator: ", ")) could not be reached, so their \
            secrets are still encrypted with the former master key. Keep that key. All other secrets are done. Rotate \
            again when these databases are available.
            """,
            cause: cause
        )
    }

    /// Returns the error for secrets that no available master key decrypts.
    fileprivate static func unknownMasterKeys(_ left: [(keyID: String, count: Int)]) -> Failure {
        let list = left.map { "\($0.count) with \($0.keyID)" }.joined(separator: ", ")
        return Failure(
            .providerMisconfigured,
            """
            Some secrets are encrypted with master keys that are not available: \(list). All other secrets are done. \
            Set the key as FEDERATION_MASTER_KEY_PREVIOUS and rotate again, or set these secrets again. Each login \
            brings a new provider token, and a password can be reset.
            """,
            details: ["keyIds": .array(left.map { .string($0.keyID) })]
        )
    }
}
