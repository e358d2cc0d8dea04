import Applications
import Crypto
import Domain
import Encodings
import Providers
import Secrets
import Store

extension LoginDialog {
    /// Decrypts the `state` in a dialog's response, and uses it up if the response has a code.
    ///
    /// A response with an error does not use up the `state`, so the browser may repeat the request. A request from
    /// another browser does not use it up either, so the browser that began the login may still end it.
    ///
    /// - Parameters:
    ///   - answer: The provider's response, in the browser's request.
    ///   - provider: The provider of the dialog.
    ///   - browser: The cookie of the browser, if any.
    ///   - loaded: The application.
    /// - Returns: The decrypted state.
    /// - Throws: `login_state_invalid`; `store_unavailable` and similar errors.
    func takeState(
        of answer: DialogAnswer,
        at provider: any DialogOffering,
        from browser: String?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> DialogState {
        let application = loaded.application
        let now = clock.seconds
        guard let encrypted = answer.state.flatMap({ Base64URL.decode($0.utf8) }),
            let state = DialogState(encrypted: encrypted, under: masterKeys, for: application.id, now: now),
            state.plan.isListed(by: application, at: provider)
        else { throw Self.unknownState }
        guard state.plan.end.isOf(browser, keptBy: state.browser) else {
            throw Failure(
                .loginStateInvalid,
                """
                This login began in another browser, or this browser blocks the cookies of this site. Go back to the \
                app in this browser and start again.
                """,
                cause: "the state of another browser's login dialog"
            )
        }
        guard try await isFirst(answer, of: provider, under: encrypted, for: state.endsAt - now, in: application) else {
            throw Self.unknownState
        }
        return state
    }

    private static let unknownState = Failure(
        .loginStateInvalid,
        "This login did not begin here, has ended, or took longer than ten minutes. Go back to the app and start again."
    )

    private func isFirst(
        _ answer: DialogAnswer,
        of provider: any DialogOffering,
        under state: [UInt8],
        for seconds: Int64,
        in application: Application
    ) async throws(Failure) -> Bool {
        guard answer.code != nil, provider.failure(in: answer) == nil else { return true }
        // The database keeps the hash for longer than the state is valid. The clocks of other instances and of the
        // database may differ from ours.
        let hash = Array(SHA256.hash(data: state))
        return try await store.use(.state, hash: hash, seconds: seconds + 60, of: application)
    }
}
