import FoundationEssentials
import Graph
import Vocabulary
import Mapping
import Store
import Verification

extension Federation {
    /// Proves an ID token of Limited Login (decision D3): nobody is asked about it once Facebook's keys are known.
    ///
    /// That it counts once is left to the write, which takes `Proof.once`.
    func prove(idToken text: Secret, nonce: Secret?, in attempt: LoginAttempt) async throws(Failure) -> Proof {
        let application = attempt.loaded.application.id
        let (settings, apps) = try attempt.loaded.facebook(appID: attempt.request.appID)
        let token = try SignedToken(text)
        let key = try await signingKeys.key(token.keyID, until: attempt.providerDeadline)
        let check = IDTokenCheck(
            issuers: graph.configuration.issuers,
            apps: apps.map(\.id),
            options: settings.options
        )
        let now = Int64(Date().timeIntervalSince1970)
        let accepted = try check.accept(token, signedBy: key, nonce: nonce, now: now)
        if let nonce = accepted.serverNonce { try checkIsOurs(nonce, of: application, now: now) }
        return Proof(
            person: accepted.person,
            profile: AdmittedProfile(accepted.person.profile, by: FacebookProvider.fields),
            token: ProviderToken(kind: .id, text: text, expiresAt: accepted.person.credentialExpiresAt),
            once: SingleUse(
                hash: accepted.digest,
                issuedAt: accepted.issued,
                seconds: accepted.end - now + Self.clockReserve,
                owner: attempt.owner(of: text, nonce: nonce),
                nonceHash: accepted.serverNonce.map { Digest.sha256($0.reveal()) }
            )
        )
    }

    /// Seconds for which a used token is remembered beyond its end: by so much the clock of another instance may be behind before
    /// that instance takes the token once more.
    private static let clockReserve: Int64 = 3600
}
