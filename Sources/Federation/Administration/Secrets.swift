package import Identity
import Store

extension Administration {
    /// `{"current": keyId, "accepted": [keyId], "secrets": [{"keyId", "count", "known"}]}`.
    package func secrets() async throws(Failure) -> JSONValue {
        let stored = try await store.secretsByKey()
        return .object([
            "current": .string(masterKeys.current.id),
            "accepted": .array(masterKeys.ids.map(JSONValue.string)),
            "secrets": .array(
                stored.map { keyID, count in
                    .object([
                        "keyId": .string(keyID), "count": .integer(Int64(count)),
                        "known": .bool(masterKeys.ids.contains(keyID)),
                    ])
                }
            ),
        ])
    }

    /// Seals everything anew that is not under the current master key, in small steps; begins where it was interrupted.
    ///
    /// - Parameters:
    ///   - actor: Who does it.
    ///   - progress: Called after each step with how many are done.
    /// - Returns: How many were sealed anew.
    /// - Throws: `provider_misconfigured` when a secret is under a master key that is not at hand; others are done then.
    package func rotateSecrets(
        by actor: Actor,
        progress: @Sendable (Int) -> Void
    ) async throws(Failure) -> Int {
        let masterKeys = masterKeys
        let former = masterKeys.previous.map(\.id).filter { $0 != masterKeys.current.id }
        var done = 0
        var emptySteps = 0
        while true {
            let sealed = try await changing {
                try await store.reseal(
                    notUnder: masterKeys.current.id,
                    among: former,
                    limit: Self.secretsInAStep,
                    by: actor
                ) { stored in
                    try masterKeys.resealed(stored)
                }
            }
            done += sealed
            if sealed > 0 { progress(done) }
            let left = try await store.secretsByKey().filter { $0.keyID != masterKeys.current.id }
            guard left.contains(where: { former.contains($0.keyID) }) else {
                guard left.isEmpty else { throw .unknownMasterKeys(left) }
                return done
            }
            // A step skips secrets that are just being changed.
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

    private static let secretsInAStep = 50
    /// About five seconds.
    private static let mostEmptySteps = 25
}

extension MasterKeys {
    /// The secret under the current key.
    ///
    /// - Throws: `provider_misconfigured` when it is under a key of ours and yet does not open.
    fileprivate func resealed(_ stored: StoredSecret) throws(Failure) -> SealedSecret {
        let place = MasterKey.Place.appSecret(application: stored.application, app: stored.app)
        guard let secret = open(stored.secret, at: place) else {
            throw Failure(
                .providerMisconfigured,
                """
                The secret of the Facebook app \(stored.app) of \(stored.application) does not open although its master key \
                \(stored.secret.keyID) is at hand: it was changed by other means. Set it anew, then rotate again.
                """
            )
        }
        return seal(secret, for: place)
    }
}

extension Failure {
    /// Secrets that no master key at hand opens.
    fileprivate static func unknownMasterKeys(_ left: [(keyID: String, count: Int)]) -> Failure {
        let list = left.map { "\($0.count) under \($0.keyID)" }.joined(separator: ", ")
        return Failure(
            .providerMisconfigured,
            """
            Some secrets are under master keys that are not at hand: \(list). Give the key as \
            FEDERATION_MASTER_KEY_PREVIOUS and rotate again, or set these secrets anew. All others are done.
            """,
            details: ["keyIds": .array(left.map { .string($0.keyID) })]
        )
    }
}
