package import Applications
package import Domain
import Limiting
package import Logging
package import Logins
import Secrets
import Store

/// Opens sessions of users, at the request of a server.
package struct ServerLogin: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let admission: Admission
    let log: LoginLog
    let limits: Limits
    let random: RandomSource

    /// Opens a session of a user for a server.
    ///
    /// The server has no credential of the user, so the session does not count as an authentication of the user.
    /// Operations that require a recent authentication refuse the session.
    ///
    /// - Throws: `object_login_forbidden` if the request has no server's API key; `not_found`, `account_disabled`,
    ///   `email_unconfirmed`.
    package func logIn(
        as id: ObjectID?,
        by server: ServerCaller?,
        previousSession: SessionKey?,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
        try await logIn(
            as: id,
            by: server,
            on: .server,
            isNew: false,
            previousSession: previousSession,
            to: loaded,
            logger: logger
        )
    }

    /// Opens a session of a user for a server, on the given grounds.
    ///
    /// - Parameters:
    ///   - id: The user.
    ///   - server: The server; nil for a client.
    ///   - grounds: What the server has presented.
    ///   - isNew: Whether the user was created for this login.
    ///   - previousSession: The client's previous session, which ends if it is the user's.
    ///   - usesRefreshTokens: Whether the client continues the session by refresh tokens.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Returns: The user and the session.
    /// - Throws: `object_login_forbidden` if the request has no server's API key; `not_found`, `account_disabled`,
    ///   `email_unconfirmed`.
    func logIn(
        as id: ObjectID?,
        by server: ServerCaller?,
        on grounds: SessionOpening.Grounds,
        isNew: Bool,
        previousSession: SessionKey?,
        usesRefreshTokens: Bool = false,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
        let key = server.map { ["key": "\($0.actor.name)"] as Logger.Metadata } ?? [:]
        return try await log.telling(of: "server login", by: .server, in: loaded, logger, with: key, signedIn: \.self) {
            () throws(Failure) in
            guard server != nil else {
                throw Failure(
                    .objectLoginForbidden,
                    "Only a server key can log in by objectId."
                )
            }
            guard let id else { throw .noSuchUser }
            let token = random.sessionToken()
            let refreshToken = usesRefreshTokens ? RefreshToken(by: random) : nil
            return try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
                let opening = SessionOpening(
                    user: id,
                    grounds: grounds,
                    login: id.description,
                    tokenHash: token.key.hash,
                    previousTokenHash: previousSession?.hash,
                    refreshToken: refreshToken?.stored
                )
                let opened = try await admission.write(of: loaded.application) {
                    () throws(Failure) in
                    try await store.openSession(opening, of: loaded.application)
                }
                if case .done(nil) = opened { throw try await store.noSuchUser(id, of: loaded.application) }
                return try opened.map { opened throws(Failure) in
                    guard let opened else { throw .noSuchUser }
                    return LoginResult(
                        user: opened.user,
                        token: token,
                        created: isNew,
                        refreshed: RefreshedSession(refreshToken, opened.facts)
                    )
                }
            }
        }
    }
}
