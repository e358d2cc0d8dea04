import Applications
import Crypto
import Providers
import Secrets
import Store
import Vocabulary

extension LoginDialog {
    /// What was decided for the dialog that answers; with a code, to the one caller who uses the state up.
    ///
    /// To hear twice that a dialog has failed does no harm, and so writes nothing: whoever wants to leave rows behind
    /// needs a code for each, about which the provider is asked. A browser that did not begin the login uses nothing
    /// up: the one that did may still end it.
    ///
    /// - Parameters:
    ///   - answer: What the dialog says.
    ///   - provider: Whose dialog it was.
    ///   - browser: What the browser keeps of ours that brings the answer, if anything.
    ///   - loaded: The application.
    /// - Returns: The state.
    /// - Throws: `login_state_invalid`; `store_unavailable` and its like.
    func takeState(
        of answer: DialogAnswer,
        at provider: any DialogOffering,
        from browser: String?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> DialogState {
        let application = loaded.application
        let now = clock.seconds
        guard let sealed = answer.state.flatMap({ Base64URL.decode($0.utf8) }),
            let state = DialogState(sealed: sealed, under: masterKeys, for: application.id, now: now),
            state.plan.isListed(by: application, at: provider)
        else { throw Self.unknownState }
        guard state.plan.end.isOf(browser, keptBy: state.browser) else {
            throw Failure(
                .loginStateInvalid,
                """
                This login was begun in another browser, or this browser keeps no cookies of this site. Go back to the app, in this \
                browser, and begin it again.
                """,
                cause: "the state of another browser's login dialog"
            )
        }
        guard try await isFirst(answer, of: provider, under: sealed, for: state.endsAt - now, in: application) else {
            throw Self.unknownState
        }
        return state
    }

    private static let unknownState = Failure(
        .loginStateInvalid,
        """
        This login was not begun here, has ended already, or took longer than ten minutes. Go back to the app and begin it \
        again.
        """
    )

    private func isFirst(
        _ answer: DialogAnswer,
        of provider: any DialogOffering,
        under state: [UInt8],
        for seconds: Int64,
        in application: Application
    ) async throws(Failure) -> Bool {
        guard answer.code != nil, provider.failure(in: answer) == nil else { return true }
        // For longer than it is good: the clocks of other instances and of the database differ.
        let hash = Array(SHA256.hash(data: state))
        return try await store.use(.state, hash: hash, seconds: seconds + 60, of: application)
    }
}
