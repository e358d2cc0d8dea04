import FoundationEssentials
package import Vocabulary
package import Logging
import Store
import Providers

/// What a provider shows a person who asked for the deletion of their data.
package struct DeletionReceipt: Sendable {
    package let code: String
    /// Where the person sees how far it is.
    package let statusURL: String
}

/// How far a request for deletion is.
package struct DeletionStatus: Sendable {
    package enum State: Sendable {
        /// Milliseconds since 1970 UTC.
        case done(Int64)
        /// Until when it will be done, milliseconds since 1970 UTC.
        case waiting(until: Int64)
        /// It should have been done, and something stands in the way.
        case inProgress
    }

    /// What the operator calls the application.
    package let application: String
    /// Milliseconds since 1970 UTC.
    package let received: Int64
    package let state: State
}

extension Federation {
    /// Takes a person's request, made at a provider, to delete what we have of them.
    ///
    /// It is written down first, and erased at once unless the application lets that wait. What goes wrong with the erasure is the
    /// operator's to mend, so the provider gets its receipt all the same, and the request stays open. The same call gets the
    /// same receipt for ever, and erases nothing a second time.
    ///
    /// - Parameters:
    ///   - call: As received.
    ///   - provider: Who calls.
    ///   - base: By which the request came.
    ///   - loaded: The application that was called.
    ///   - logger: Of the request.
    /// - Returns: The receipt.
    /// - Throws: `malformed_request` when it is not the provider's, `provider_misconfigured` while the deployment does not say its own
    ///   address, `store_unavailable` and its like; nothing is written then.
    package func requestDeletion(
        _ call: String,
        by provider: ProviderName,
        at base: PublicBase,
        of loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> DeletionReceipt {
        let caller = try loaded.caller(provider)
        let removal = try loaded.verified(caller) { (caller) throws(Failure) in try caller.removal(in: call) }
        guard publicURL != nil else {
            throw Failure(
                .providerMisconfigured,
                """
                The service does not know its own public address, which the person needs to see how far the deletion is. The \
                operator has to set FEDERATION_PUBLIC_URL.
                """,
                retryAfter: 60,
                cause: "FEDERATION_PUBLIC_URL is not set; a request for deletion was turned away"
            )
        }
        let address = try publicAddress(of: base, for: loaded.application)
        let stored = try await store.openDeletion(
            NewDeletionRequest(
                code: DeletionCode.random(),
                hash: removal.hash,
                identity: removal.identity,
                issued: removal.issuedAt,
                days: caller.eraseAfterDays
            ),
            of: loaded.application
        )
        logger.info(
            "deletion requested",
            metadata: ["application": "\(loaded.application.id)", "deletion": "\(stored.code)"]
        )
        if stored.done == nil, stored.due <= stored.requested {
            let erasures = Erasures(store: store, masterKeys: masterKeys, banKey: banKey)
            _ = await erasures.erase(code: stored.code, by: provider, of: loaded, logger: logger)
        }
        return DeletionReceipt(
            code: stored.code,
            statusURL: address + "/users/oauth/\(provider)/deletion/" + stored.code
        )
    }

    /// How far the request with a code is; nil when there is none, or the text is no code.
    package func deletionStatus(
        of code: String,
        in loaded: LoadedApplication
    ) async throws(Failure) -> DeletionStatus? {
        guard DeletionCode.isCode(code),
            let stored = try await store.deletion(code: code, of: loaded.application)
        else { return nil }
        let state: DeletionStatus.State =
            if let done = stored.done { .done(done) } else if stored.due > Int64(Date().timeIntervalSince1970 * 1000) {
                .waiting(until: stored.due)
            } else {
                .inProgress
            }
        return DeletionStatus(application: loaded.application.name, received: stored.requested, state: state)
    }
}

/// The code of a request for deletion: 26 characters of base32, 130 random bits.
private enum DeletionCode {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
    private static let length = 26

    static func random() -> String {
        String(decoding: Random.bytes(length).map { alphabet[Int($0 & 31)] }, as: UTF8.self)
    }

    static func isCode(_ text: String) -> Bool {
        text.utf8.count == length && text.utf8.allSatisfy(alphabet.contains)
    }
}
