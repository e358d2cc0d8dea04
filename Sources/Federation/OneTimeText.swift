import Identity
import Store

/// 256 random bits as 43 characters of base64url, to be given out and to come back once; the database knows their hash only.
struct OneTimeText: Sendable {
    let secret: Secret

    init() { secret = Secret(Base64URL.encode(Random.bytes(32))) }

    /// A text that came back; nil when it cannot be one of ours, which saves asking the database.
    init?(received text: String) {
        guard text.utf8.count == 43, text.utf8.allSatisfy(Base64URL.isCharacter) else { return nil }
        secret = Secret(text)
    }

    var hash: [UInt8] { Digest.sha256(secret.reveal()) }
}

extension Federation {
    /// Keeps what a one-time text stands for, sealed.
    func keep(
        _ text: OneTimeText,
        as kind: SingleUseKind,
        payload: Secret,
        seconds: Int64,
        of application: Application
    ) async throws(Failure) {
        let place = MasterKey.Place.singleUse(application: application.id, kind: kind, hash: text.hash)
        try await store.keepSingleUse(
            kind,
            hash: text.hash,
            payload: masterKeys.seal(payload, for: place),
            seconds: seconds,
            of: application
        )
    }

    /// What a one-time text stands for, to the one caller who uses it up; nil for everybody else.
    func take(
        _ text: OneTimeText,
        as kind: SingleUseKind,
        of application: Application
    ) async throws(Failure) -> Secret? {
        let hash = text.hash
        guard let sealed = try await store.takeSingleUse(kind, hash: hash, of: application) else { return nil }
        return masterKeys.open(sealed, at: .singleUse(application: application.id, kind: kind, hash: hash))
    }
}
