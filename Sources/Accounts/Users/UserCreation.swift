package import Applications
package import Domain
import Encodings
import Secrets
package import Store

/// Creates users from records that a server or an operator sends.
///
/// A record may have the same members as the record of a registration (`ClientRecord`). A server or an operator may set
/// every property, and may leave out the password.
package struct UserCreation: Sendable {
    let store: Store
    let verifier: PasswordVerifier
    let random: RandomSource

    package init(store: Store, verifier: PasswordVerifier, random: RandomSource) {
        self.store = store
        self.verifier = verifier
        self.random = random
    }

    /// The id, the status and the hashed password of a user to create.
    package struct NewLogin: Sendable {
        package let id: ObjectID
        package let status: UserStatus
        /// The hashed password; nil for a user without a password.
        package let password: StoredPassword?
    }

    /// Chooses an id and a status for a new user, and hashes the password in the record.
    ///
    /// - Throws: `malformed_request`, `login_missing`, `email_invalid`, `password_not_allowed`, and other errors of a
    ///   registration's record.
    package func login(
        of record: UserRecord,
        in loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> NewLogin {
        let client = try ClientRecord.fromServer(record, of: loaded)
        guard client.objectID == nil else {
            throw Failure(.malformedRequest, "The service sets the objectId of a new user. Leave it out.")
        }
        let status = try Self.status(in: record) ?? .enabled
        let id = random.objectID()
        guard let password = client.password else { return NewLogin(id: id, status: status, password: nil) }
        guard let login = try client.login(of: loaded.application) else {
            throw .loginMissing(in: loaded.application)
        }
        let stored = try await verifier.newPassword(
            password,
            login: login,
            of: id,
            names: client.names,
            in: loaded,
            deadline: deadline
        )
        return NewLogin(id: id, status: status, password: stored)
    }

    /// Returns the user to create from a record, and the names of the members of the record that are ignored.
    package func user(
        of record: UserRecord,
        with login: NewLogin,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (user: NewUser, ignored: [String]) {
        let client = try ClientRecord.fromServer(record, of: loaded)
        if !client.newDynamicNames.isEmpty {
            try await store.registerDynamicNames(client.newDynamicNames, of: loaded.application.id)
        }
        var user = NewUser(id: login.id, password: login.password, status: login.status, given: client.given)
        (user.uid, user.confirmsAddress) = (record.uid, record.confirmsAddress)
        return (user, client.ignored)
    }

    private static func status(in record: UserRecord) throws(Failure) -> UserStatus? {
        guard let value = record.properties.present("userStatus") else { return nil }
        let allowed = [UserStatus.enabled, .disabled, .emailConfirmationPending]
        guard let status = allowed.first(where: { value.string?.hasSameBytes(as: $0.rawValue) ?? false }) else {
            let words = allowed.map(\.rawValue).joined(separator: ", ")
            throw Failure(.malformedRequest, "userStatus must be one of \(words).")
        }
        return status
    }
}

extension ClientRecord {
    /// Reads a record from a server or an operator, who may write every property.
    static func fromServer(
        _ record: UserRecord,
        for user: User? = nil,
        of loaded: LoadedApplication
    ) throws(Failure) -> ClientRecord {
        var client = try ClientRecord(record, for: user, of: loaded, by: .server)
        _ = try client.email()
        if let login = try client.login(of: loaded.application) { client.setLogin(login, of: loaded.application) }
        return client
    }

    /// Returns the login name in the record; nil without one.
    fileprivate func login(of application: Application) throws(Failure) -> Login? {
        let property = application.settings.identityProperty
        guard case .value(.text(let text)) = given.given(property) else { return nil }
        return try Login(client: text, of: property)
    }
}

extension Failure {
    static func loginMissing(in application: Application) -> Failure {
        let property = application.settings.identityProperty
        return Failure(.loginMissing, "A user with a password needs a login name. Send it as \"\(property)\".")
    }
}
