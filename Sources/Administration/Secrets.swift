import Secrets
import Store
package import Vocabulary

/// What is sealed, and the rotation of the master key.
package struct SecretRotation: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let options: SecretOptionResealing

    /// `{"current": keyId, "accepted": [keyId],
    ///   "secrets": [{"keyId", "count", "tokens", "passwords", "factors", "tokenKeys", "banKeys", "passing",
    ///   "known"}]}`: app secrets and secret options, kept tokens of identities, hashes of passwords, what is secret of
    ///   second factors, keys of signed tokens, the key of bans, and what passes: login codes that wait to be
    ///   exchanged, and mails that wait to be sent.
    package func count() async throws(Failure) -> JSONValue {
        var secrets: [String: Int] = [:]
        for (keyID, count) in try await store.secretsByKey() { secrets[keyID] = count }
        for (keyID, count) in try await options.countByKey() { secrets[keyID, default: 0] += count }
        var tokenKeys: [String: Int] = [:]
        for (keyID, count) in try await store.tokenKeysByKey() { tokenKeys[keyID] = count }
        let banKeys = Dictionary(uniqueKeysWithValues: try await banKeysByKey().map { ($0.keyID, $0.count) })
        var tokens: [String: Int] = [:]
        var passwords: [String: Int] = [:]
        var factors: [String: Int] = [:]
        for (keyID, count) in try await store.factorsByKey(of: nil) { factors[keyID, default: 0] += count }
        var passing: [String: Int] = [:]
        for place in try await store.applicationPlaces() {
            for count in try await store.sealedByKey(of: place) {
                tokens[count.keyID, default: 0] += count.tokens
                passing[count.keyID, default: 0] += count.passing
            }
            for (keyID, count) in try await store.passwordsByKey(of: place) { passwords[keyID, default: 0] += count }
            for (keyID, count) in try await store.factorsByKey(of: place) { factors[keyID, default: 0] += count }
            for (keyID, count) in try await store.mailsByKey(of: place) { passing[keyID, default: 0] += count }
        }
        let keyIDs = [secrets, tokenKeys, banKeys, tokens, passwords, factors, passing].reduce(into: Set()) {
            $0.formUnion($1.keys)
        }
        .sorted()
        return .object([
            "current": .string(masterKeys.current.id),
            "accepted": .array(masterKeys.ids.map(JSONValue.string)),
            "secrets": .array(
                keyIDs.map { keyID in
                    .object([
                        "keyId": .string(keyID), "count": .integer(Int64(secrets[keyID] ?? 0)),
                        "tokens": .integer(Int64(tokens[keyID] ?? 0)),
                        "passwords": .integer(Int64(passwords[keyID] ?? 0)),
                        "factors": .integer(Int64(factors[keyID] ?? 0)),
                        "tokenKeys": .integer(Int64(tokenKeys[keyID] ?? 0)),
                        "banKeys": .integer(Int64(banKeys[keyID] ?? 0)),
                        "passing": .integer(Int64(passing[keyID] ?? 0)),
                        "known": .bool(masterKeys.ids.contains(keyID)),
                    ])
                }
            ),
        ])
    }

    /// Seals everything anew that is not under the current master key, in small steps; begins where it was interrupted.
    ///
    /// App secrets come first, secret options after them, also such as were stored as they are, the keys of signed
    /// tokens and that of bans after them, and then kept tokens of identities, hashes of passwords, secrets of second
    /// factors and mails that wait to be sent, application by application. A login code is over within a minute and
    /// stays under its key.
    ///
    /// - Parameters:
    ///   - actor: Who does it.
    ///   - progress: Called after each step with how many are done.
    /// - Returns: How many were sealed anew.
    /// - Throws: `provider_misconfigured` when the database knows none of the master keys at hand, or a secret is under
    ///   one that is not at hand, `store_unavailable` when a database of an application's own does not answer; others
    ///   are done then.
    package func rotate(
        by actor: Actor,
        progress: @Sendable (Int) -> Void
    ) async throws(Failure) -> Int {
        let (masterKeys, store) = (masterKeys, store)
        let current = masterKeys.current.id
        let former = masterKeys.previous.map(\.id).filter { $0 != current }
        try await store.admit(masterKeys, registering: true)
        var done = 0
        func sealAll(
            _ step: () async throws -> Int,
            left: () async throws(Failure) -> [(keyID: String, count: Int)]
        ) async throws(Failure) -> [(keyID: String, count: Int)] {
            var emptySteps = 0
            while true {
                let sealed = try await changing(step)
                done += sealed
                if sealed > 0 { progress(done) }
                let left = try await left().filter { $0.keyID != current }
                guard left.contains(where: { former.contains($0.keyID) }) else { return left }
                // A step skips what is just being changed.
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
        var left = try await sealAll({
            try await store.reseal(
                notUnder: current,
                among: former,
                limit: Self.secretsInAStep,
                by: actor
            ) { stored in
                try masterKeys.resealed(stored)
            }
        }) { () throws(Failure) in
            try await store.secretsByKey()
        }
        left += try await sealAll({
            try await options.reseal(by: actor)
        }) { () throws(Failure) in
            try await options.countByKey()
        }
        left += try await sealAll({
            try await store.resealTokenKeys(notUnder: current, among: former, by: actor) { secret, id, application in
                masterKeys.resealed(secret, at: .tokenKey(id: id, application: application))
            }
        }) { () throws(Failure) in
            try await store.tokenKeysByKey()
        }
        left += try await sealAll({
            try await store.resealBanKey(notUnder: current, among: former, by: actor) { secret in
                try masterKeys.resealed(banKey: secret)
            }
        }) { () throws(Failure) in
            try await banKeysByKey()
        }
        func sealFactors(of place: ApplicationPlace?) async throws(Failure) -> [(keyID: String, count: Int)] {
            try await sealAll({
                try await store.resealFactors(
                    of: place,
                    notUnder: current,
                    among: former,
                    limit: Self.secretsInAStep,
                    by: actor
                ) { secret, owner, factor in
                    try masterKeys.resealed(secret, ofFactor: factor, of: owner, in: place?.id)
                }
            }) { () throws(Failure) in
                try await store.factorsByKey(of: place)
            }
        }
        left += try await sealFactors(of: nil)
        func sealUsers(of place: ApplicationPlace) async throws(Failure) {
            left += try await sealAll({
                try await store.resealTokens(
                    of: place,
                    notUnder: current,
                    among: former,
                    limit: Self.secretsInAStep,
                    by: actor
                ) { secret, identity in
                    masterKeys.resealed(secret, at: .providerToken(application: place.id, identity: identity))
                }
            }) { () throws(Failure) in
                try await store.sealedByKey(of: place).filter { $0.tokens > 0 }.map { ($0.keyID, $0.tokens) }
            }
            left += try await sealAll({
                try await store.resealPasswords(
                    of: place,
                    notUnder: current,
                    among: former,
                    limit: Self.secretsInAStep,
                    by: actor
                ) { hash, user in
                    try masterKeys.resealed(hash, of: user, in: place.id)
                }
            }) { () throws(Failure) in
                try await store.passwordsByKey(of: place)
            }
            left += try await sealFactors(of: place)
            left += try await sealAll({
                try await store.resealMails(of: place, among: former, limit: Self.secretsInAStep) { sealed, id in
                    masterKeys.resealed(sealed, at: .mail(application: place.id, id: id))
                }
            }) { () throws(Failure) in
                try await store.mailsByKey(of: place)
            }
        }
        var unreached: [(application: ApplicationID, failure: Failure)] = []
        for place in try await store.applicationPlaces() {
            do throws(Failure) { try await sealUsers(of: place) } catch {
                guard place.isElsewhere, error.reason == .storeUnavailable else { throw error }
                unreached.append((place.id, error))
            }
        }
        if let first = unreached.first { throw .unreached(unreached.map(\.application), cause: first.failure.cause) }
        guard left.isEmpty else { throw .unknownMasterKeys(left) }
        // From now on an instance with a former key alone seals nothing: the others could not open it.
        try await store.forgetMasterKeys(otherThan: current, by: actor)
        return done
    }

    /// Makes the database know the current master key, although no key that it knows is at hand.
    ///
    /// - Returns: Whether the database did not know the key before.
    package func register(by actor: Actor) async throws(Failure) -> Bool {
        try await store.register(masterKey: masterKeys.current.id, by: actor)
    }

    /// The id of the master key that seals.
    package var currentID: String { masterKeys.current.id }

    /// The master key that the key of bans is under, as the other counts are given; none while there is no such key.
    private func banKeysByKey() async throws(Failure) -> [(keyID: String, count: Int)] {
        try await store.banKey().map { [(keyID: $0.keyID, count: 1)] } ?? []
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
        let place = MasterKey.Place.appSecret(
            application: stored.application,
            provider: stored.provider,
            app: stored.app
        )
        guard let secret = open(stored.secret, at: place) else {
            throw Failure(
                .providerMisconfigured,
                """
                The secret of the app \(stored.app) at \(stored.provider) of \(stored.application) does not open although its master key \
                \(stored.secret.keyID) is at hand: it was changed by other means. Set it anew, then rotate again.
                """
            )
        }
        return seal(secret, for: place)
    }

    /// The hash of a password under the current key.
    ///
    /// - Throws: `provider_misconfigured` when it is under a key of ours and yet does not open.
    fileprivate func resealed(
        _ hash: SealedSecret,
        of user: ObjectID,
        in application: ApplicationID
    ) throws(Failure) -> SealedSecret {
        guard let resealed = resealed(hash, at: .passwordHash(application: application, user: user)) else {
            throw Failure(
                .providerMisconfigured,
                """
                The password of the user \(user) of \(application) does not open although its master key \(hash.keyID) is at hand: it was \
                changed by other means. Remove it from the table passwords, so that the user can set another, then rotate again.
                """
            )
        }
        return resealed
    }

    /// What is secret of a second factor under the current key.
    ///
    /// - Throws: `provider_misconfigured` when it is under a key of ours and yet does not open.
    fileprivate func resealed(
        _ secret: SealedSecret,
        ofFactor factor: ObjectID,
        of user: ObjectID,
        in application: ApplicationID?
    ) throws(Failure) -> SealedSecret {
        guard let resealed = resealed(secret, at: .factor(application: application, user: user, id: factor)) else {
            throw Failure(
                .providerMisconfigured,
                """
                The second factor \(factor) of \(application.map { "the user \(user) of \($0)" } ?? "an operator") does not \
                open although its master key \(secret.keyID) is at hand: it was changed by other means. Take it away \
                (federation user factor remove, federation operator factor remove), then rotate again.
                """
            )
        }
        return resealed
    }

    /// The key of bans under the current key.
    ///
    /// - Throws: `provider_misconfigured` when it is under a key of ours and yet does not open.
    fileprivate func resealed(banKey: SealedSecret) throws(Failure) -> SealedSecret {
        guard let resealed = resealed(banKey, at: .banKey) else {
            throw Failure(
                .providerMisconfigured,
                """
                The key of bans does not open although its master key \(banKey.keyID) is at hand: it was changed by other means. Remove it \
                from the table federation.ban_key, which ends all bans, restart the instances, then rotate again.
                """
            )
        }
        return resealed
    }

    /// The secret under the current key; nil when it does not open.
    fileprivate func resealed(_ secret: SealedSecret, at place: MasterKey.Place) -> SealedSecret? {
        open(secret, at: place).map { seal($0, for: place) }
    }
}

extension Failure {
    /// Applications whose own databases did not answer.
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

    /// Secrets that no master key at hand opens.
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
