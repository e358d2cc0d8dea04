import Crypto
import FoundationEssentials
import Identity
import Store

/// The `state` of a login dialog: everything that was decided when it was opened, sealed for the application.
///
/// It goes to Facebook with the browser and comes back, and nothing is kept meanwhile: whoever opens dialogs without end takes none
/// away from others. That it counts once is written when it comes back with a code.
extension DialogState {
    /// Most bytes of a mapping that travels in the dialog's address.
    static let mostMappingBytes = 2048

    func sealed(under keys: MasterKeys, for application: ApplicationID) -> [UInt8] {
        keys.current.stateKey.seal(text, authenticating: Array(application.text.utf8))
    }

    /// Nil for what we did not seal for this application, and for what is too old.
    init?(sealed: [UInt8], under keys: MasterKeys, for application: ApplicationID, now: Int64) {
        let data = Array(application.text.utf8)
        let plain = ([keys.current] + keys.previous).lazy
            .compactMap { $0.stateKey.open(sealed, authenticating: data) }.first
        guard let state = plain.flatMap(DialogState.init), now < state.endsAt else { return nil }
        self = state
    }
}

extension Federation {
    /// What was decided for the dialog that answers; with a code, to the one caller who uses the state up.
    ///
    /// To hear twice that a dialog has failed does no harm, and so writes nothing: whoever wants to leave rows behind needs a code
    /// for each, about which Facebook is asked.
    ///
    /// - Throws: `login_state_invalid`; `store_unavailable` and its like.
    func takeState(of answer: DialogAnswer, in application: Application) async throws(Failure) -> DialogState {
        let now = Int64(Date().timeIntervalSince1970)
        if let sealed = answer.state.flatMap({ Base64URL.decode($0.utf8) }),
            let state = DialogState(sealed: sealed, under: masterKeys, for: application.id, now: now),
            // The operator may have taken the address away since.
            state.end.isListed(
                returnURLs: application.facebook?.options.returnURLs ?? [],
                allowedOrigins: application.settings.allowedOrigins
            ),
            try await isFirst(answer, under: sealed, for: state.endsAt - now, in: application)
        {
            return state
        }
        throw Failure(
            .loginStateInvalid,
            """
            This login was not begun here, has ended already, or took longer than ten minutes. Go back to the app and begin it \
            again.
            """
        )
    }

    private func isFirst(
        _ answer: DialogAnswer,
        under state: [UInt8],
        for seconds: Int64,
        in application: Application
    ) async throws(Failure) -> Bool {
        guard answer.code != nil, answer.failure == nil else { return true }
        // For longer than it is good: the clocks of other instances and of the database differ.
        let hash = Array(SHA256.hash(data: state))
        return try await store.useState(hash: hash, seconds: seconds + 60, of: application)
    }
}

extension MasterKey {
    /// Apart from the key of what is stored, since anybody may have states sealed.
    fileprivate var stateKey: SealingKey { SealingKey(key: derivedKey(for: "federation: states of login dialogs")) }
}
