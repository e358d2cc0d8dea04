package import Applications
package import Domain
import Encodings
package import Logging
import Logins
package import Messaging
import Store

/// The changes of an account in one request of a backend.
package struct AccountChange: Sendable {
    /// The new values of properties, and the new password.
    package var record = UserRecord()
    package var settings = AccountSettings()
    /// Whether the account is disabled; nil leaves it as it is.
    package var isDisabled: Bool?
    /// The providers whose identities the user loses; `password` for the password.
    package var unlinked: [ProviderName] = []
    /// The identity that the user gets; nil for none.
    package var linked: IdentityKey?
    /// The second factors by codes that the user keeps; nil keeps all factors.
    ///
    /// An empty list removes all second factors, also those of other kinds.
    package var keptFactors: [ObjectID]?

    package init() {}
}

/// Reads and changes accounts for a backend that is a service account.
package struct BackendAccounts: Sendable {
    let store: Store
    let accountUpdate: AccountUpdate
    let roles: Roles
    let notices: Notices
    let revoker: PermissionRevoker
    let banKey: BanKey

    /// The maximum number of users that one request may name.
    package static let maxNamed = 100
    /// The maximum number of users on a page.
    package static let maxPage = 1000

    /// Returns the users whom a backend names, each once, without unknown users.
    ///
    /// Several users may have one e-mail address. The first is the user who logs in with the address and a password.
    ///
    /// - Throws: `store_unavailable` and similar errors.
    package func accounts(
        named names: [AccountName],
        by server: ServerCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [AccountDetails] {
        let ids = try await store.users(named: names, of: loaded.application)
        let found = try await accounts(.ids(ids), by: server, in: loaded)
        let places = Dictionary(ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        return found.sorted { places[$0.user.objectID] ?? 0 < places[$1.user.objectID] ?? 0 }
    }

    /// Returns the selected users.
    ///
    /// The audit log records the reading.
    ///
    /// - Throws: `store_unavailable` and similar errors.
    package func accounts(
        _ selection: AccountSelection,
        by server: ServerCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [AccountDetails] {
        let found: [AccountDetails]
        if case .ids(let ids) = selection, ids.isEmpty {
            found = []
        } else {
            found = try await store.accounts(selection, of: loaded.application)
        }
        try await store.recordReading(
            .search,
            of: found.count == 1 ? found.first?.user.objectID : nil,
            ["by": .array([.string("account")]), "found": .integer(Int64(found.count))],
            in: loaded.application.id,
            by: server.actor
        )
        return found
    }

    /// Returns the user with a uid.
    ///
    /// - Throws: `not_found`; `store_unavailable` and similar errors.
    package func user(ofUID uid: String, in loaded: LoadedApplication) async throws(Failure) -> ObjectID {
        guard let user = try await store.user(ofUID: uid, in: loaded.application) else { throw .noSuchUser }
        return user
    }

    /// Returns a dictionary from uids to users, without unknown uids.
    ///
    /// - Throws: `store_unavailable` and similar errors.
    package func users(
        ofUIDs uids: [String],
        in loaded: LoadedApplication
    ) async throws(Failure) -> [FirebaseUID: ObjectID] {
        try await store.users(ofUIDs: uids, in: loaded.application)
    }

    /// Changes an account.
    ///
    /// The changes are made in this order: the record, identities, second factors, claims and confirmation of the
    /// address, the status. Each is a transaction. If one fails, the later ones are not made.
    ///
    /// - Parameters:
    ///   - id: The user.
    ///   - change: The changes.
    ///   - server: The backend.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Throws: `not_found`; `identity_taken` for the identity of another user; `conflict` for an identity that the
    ///   user cannot get; the errors of a server's change of a record.
    package func change(
        _ id: ObjectID,
        by change: AccountChange,
        for server: ServerCaller,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let before = try await store.existingUser(id, of: loaded.application)
        // Every refusal that needs nothing but the former state comes before the first write.
        let removed = try change.keptFactors.map { (kept) throws(Failure) in try before.factors(besides: kept) } ?? []
        if !change.record.properties.members.isEmpty || change.record.password != nil {
            _ = try await accountUpdate.update(
                id,
                with: change.record,
                token: nil,
                server: server,
                from: source,
                in: loaded,
                logger: logger
            )
        }
        if let identity = change.linked { try await link(identity, to: id, by: server, in: loaded) }
        for method in before.loginMethods(of: change.unlinked) {
            try await unlink(method, from: id, by: server, in: loaded)
        }
        try await remove(removed, of: before, by: server, in: loaded)
        if !change.settings.isEmpty {
            let settings = change.settings
            _ = try await store.changing(id, of: loaded.application, by: server) { _ in .setAccount(settings) }
        }
        if let isDisabled = change.isDisabled {
            try await roles.setStatus(isDisabled ? .disabled : .enabled, of: id, by: server, in: loaded)
        }
    }

    private func link(
        _ identity: IdentityKey,
        to user: ObjectID,
        by server: ServerCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let outcome = try await store.link(
            [IdentityPair(record: 1, line: 1, user: .id(user), identity: identity)],
            besides: [],
            in: loaded.application,
            hashingBy: try await banKey.hasher(of: loaded.application.id)
        )
        if let refusal = outcome.refusals.first {
            throw Failure(
                refusal.reason == "identityTaken" ? .identityTaken : .conflict,
                "The identity cannot be linked: \(refusal.message)."
            )
        }
        guard outcome.existing.isEmpty else { return }
        try await store.recordLink(of: identity, to: user, in: loaded.application, by: server.actor)
    }

    private func unlink(
        _ method: StoredUser.Method,
        from user: ObjectID,
        by server: ServerCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let changed = try await store.changing(user, of: loaded.application, by: server) { _ in
            .unlink(provider: method.provider, app: method.app, subject: method.subject)
        }
        _ = await revoker.revokePermissions(by: changed.tokens, formerlyOf: user, in: loaded, actor: server.actor)
    }

    private func remove(
        _ factors: [StoredUser.Factor],
        of before: StoredUser,
        by server: ServerCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        for factor in factors where factor.kind.standsAlone {
            let mail = Mail.factorRemoved(kind: factor.kind, link: nil, days: 0, name: before.user.name)
            let told = try await notices.notices(of: mail, to: before.user, in: loaded)
            _ = try await store.changing(before.user.objectID, of: loaded.application, by: server) { stored in
                stored.factors.contains { $0.id == factor.id } ? .removeFactors(only: factor.id, telling: told) : nil
            }
        }
    }
}

extension StoredUser {
    /// A login method, with the login name of a password as its subject.
    fileprivate typealias Method = (provider: String, app: String, subject: String)

    /// Returns the second factors that a backend removes by naming those that the user keeps; no name removes all.
    ///
    /// - Throws: `factor_not_offered` for a factor that the user does not have.
    fileprivate func factors(besides kept: [ObjectID]) throws(Failure) -> [StoredUser.Factor] {
        let codes = factors.filter { [.totp, .sms].contains($0.kind) }
        guard kept.allSatisfy({ id in codes.contains { $0.id == id } }) else {
            throw Failure(
                .factorNotOffered,
                """
                The call keeps a second factor that the user does not have. A backend can remove factors, but not add \
                one. Name factors of the user only.
                """
            )
        }
        return kept.isEmpty ? factors : codes.filter { !kept.contains($0.id) }
    }

    /// Returns the login methods by the given providers.
    fileprivate func loginMethods(of providers: [ProviderName]) -> [Method] {
        var methods: [Method] = identities.map { ($0.provider, $0.app, $0.subject) }
        if let password { methods.append((ProviderName.password.text, "", password.login)) }
        return methods.filter { method in providers.contains { $0.text.hasSameBytes(as: method.provider) } }
    }
}

extension Store {
    /// Changes a user for a backend, as ``change(_:of:by:plan:)`` does.
    fileprivate func changing(
        _ id: ObjectID,
        of application: Application,
        by server: ServerCaller,
        plan: @escaping @Sendable (StoredUser) -> UserChange?
    ) async throws(Failure) -> ChangedUser {
        do {
            return try await change(id, of: application, by: server.actor, plan: plan)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.internal, "The change could not be made.", cause: "\(error)")
        }
    }
}
