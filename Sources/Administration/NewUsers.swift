import Accounts
import Applications
import Description
package import Domain
package import Encodings
import Messaging
import Secrets
import Store

/// The creation of users by operators.
extension UserAdministration {
    /// Creates a user from `{"user": {name: value}, "password"?, "mail"?, "roles"?}`.
    ///
    /// Operators can create users even if the application is closed to new users.
    ///
    /// - Parameters:
    ///   - document: The user. With `"mail": "passwordReset"` in place of a password, the service mails the user a link
    ///     to choose a password.
    ///   - application: The application of the user.
    ///   - actor: The operator.
    /// - Returns: The user, as `read` returns it.
    /// - Throws: `document_invalid`; the errors of a registration with these property values; `login_taken`;
    ///   `role_unknown` and `role_fixed`; `mail_off` and `too_many_attempts` for the mail. After an error, nothing is
    ///   stored.
    package func create(
        _ document: JSONValue,
        of application: String,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let loaded = LoadedApplication(try await changes.existing(application), masterKeys: masterKeys, kinds: kinds)
        let new = try NewUserDocument(document, of: loaded.application)
        var counts: [AttemptCount] = []
        var record = new.record
        if let address = new.address {
            try links.requireMail()
            counts = try await links.countLink(.passwordReset, to: address, from: nil, in: loaded)
            // Nobody knows this random password. The link sets another one.
            record.password = .string(Base64URL.encode(random.bytes(32)))
        }
        let made: User
        do throws(Failure) {
            made = try await create(record, with: new.roles, in: loaded, by: actor)
        } catch {
            if !counts.isEmpty { try? await store.withdrawAttempt(for: counts, of: loaded.application) }
            throw error
        }
        if new.address != nil {
            do throws(Failure) {
                let template = Mail.Template.passwordReset.rawValue
                try await store.recordMail(template, to: made.objectID, in: loaded.application.id, by: actor)
                try await links.mailLink(.passwordReset, to: made, in: loaded)
            } catch {
                throw Failure(
                    error.reason,
                    "The user \(made.objectID) is created, but the link was not mailed. \(error.message)",
                    retryAfter: error.retryAfter,
                    cause: error.cause
                )
            }
        } else if made.status == .emailConfirmationPending, links.canSend {
            // A failure of the mail is ignored, as for users that servers create: the mail can be sent again.
            try? await links.mailLink(.confirmation, to: made, in: loaded)
        }
        let owner = loaded.application
        return await resource(try await storedUser(made.objectID.description, of: owner), of: owner)
    }

    private func create(
        _ record: UserRecord,
        with roles: [String],
        in loaded: LoadedApplication,
        by actor: ChangeAuthor
    ) async throws(Failure) -> User {
        let login = try await creation.login(
            of: record,
            in: loaded,
            deadline: .now + Administration.providerTimeout
        )
        var (user, ignored) = try await creation.user(of: record, with: login, in: loaded)
        guard ignored.isEmpty else {
            var problems = DocumentProblems()
            for name in ignored {
                problems.add(JSONPointer() / "user" / name, "is not a declared property of this application")
            }
            throw problems.failure
        }
        user.roles = roles
        let made: [User]
        do throws(Failure) {
            made = try await store.create([user], by: actor, of: loaded.application).get()
        } catch {
            guard error.reason == .loginTaken else { throw error }
            throw Failure(
                .loginTaken,
                """
                Another user already has this \(loaded.application.settings.identityProperty). The user was not created.
                """
            )
        }
        guard let user = made.first else { throw Failure(.internal, "The user could not be created.") }
        return user
    }
}

/// An operator's request for a new user.
private struct NewUserDocument {
    private(set) var record: UserRecord
    private(set) var roles: [String] = []
    /// The address that gets the link for setting a password; nil when the request asks for no mail.
    private(set) var address: EmailAddress?

    private static let members = ["user", "password", "mail", "roles"]

    /// Reads an operator's request to create a user.
    ///
    /// - Throws: `document_invalid` with all problems; `role_unknown`, `role_fixed`.
    init(_ document: JSONValue, of application: Application) throws(Failure) {
        guard let object = document.object else {
            throw DocumentProblems(JSONPointer(), "must be an object with \"user\"").failure
        }
        var problems = DocumentProblems()
        for member in object.members where !Self.members.contains(where: { $0.hasSameBytes(as: member.key) }) {
            problems.add(unknown: member.key, at: JSONPointer() / member.key, among: Self.members)
        }
        let user = object["user"]?.object
        if user == nil { problems.add(JSONPointer() / "user", "must be an object of properties and their values") }
        let names = application.properties.map(\.name.text) + ["userStatus"]
        for member in user?.members ?? [] where application.settings.undeclared != .store {
            guard !names.contains(where: { $0.hasSameBytes(as: member.key) }) else { continue }
            let place = JSONPointer() / "user" / member.key
            problems.add(unknown: member.key, at: place, among: names, "is not a declared property of this application")
        }
        record = UserRecord(properties: user ?? JSONObject(), password: object.present("password"))
        let given = object.present("roles")
        let texts = given?.array?.compactMap(\.string) ?? []
        if let given, given.array?.count != texts.count {
            problems.add(JSONPointer() / "roles", "must be a list of names of roles")
        }
        if let mail = object.present("mail") {
            let place = JSONPointer() / "mail"
            address = record.properties.present(PropertyName.email.text)?.string.flatMap { EmailAddress($0) }
            if mail.string?.hasSameBytes(as: Mail.Template.passwordReset.rawValue) != true {
                problems.add(place, "must be \"passwordReset\"")
            } else if record.password?.string?.isEmpty == false {
                problems.add(place, "cannot be combined with a password, because the link is for choosing one")
            } else if address == nil {
                problems.add(JSONPointer() / "user" / "email", "is required, because the link is mailed to it")
            }
        }
        guard problems.isEmpty else { throw problems.failure }
        for text in texts { roles.append(try application.role(text, thatIsGiven: true)) }
    }
}
