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
///
/// Reads by ids, uids and identities are reads by a key. Like those of clients, they do not wait for searches. All
/// other reads are searches.
package struct BackendAccounts: Sendable {
    let store: Store
    let searches: UserSearches
    let accountUpdate: AccountUpdate
    let notices: Notices
    let revoker: PermissionRevoker
    let banKey: BanKey

    /// The maximum number of users that one request may name.
    package static let maxNamed = 100
    /// The maximum number of users on a page.
    package static let maxPage = 1000
    /// The maximum number of users whom addresses or telephone numbers name: neither is unique.
    private static let maxFound: Int64 = 1000

    /// Returns the users whom a backend names, each once, without unknown users.
    ///
    /// Several users may have one e-mail address. The first is the user who logs in with the address and a password.
    ///
    /// - Throws: `query_too_slow`, `overloaded`; `store_unavailable` and similar errors.
    package func accounts(
        named names: [AccountName],
        by server: ServerCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [AccountDetails] {
        let ids = try await ids(of: names, in: loaded.application)
        let found = try await accounts(.ids(ids), by: server, in: loaded)
        let places = Dictionary(ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        return found.sorted { places[$0.user.objectID] ?? 0 < places[$1.user.objectID] ?? 0 }
    }

    /// Returns the selected users.
    ///
    /// The audit log records the reading.
    ///
    /// - Throws: `query_too_slow`, `query_too_large`, `overloaded`; `store_unavailable` and similar errors.
    package func accounts(
        _ selection: AccountSelection,
        by server: ServerCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [AccountDetails] {
        let application = loaded.application
        let found: [AccountDetails]
        switch selection {
        case .ids(let ids): found = try await store.accounts(ids, of: application)
        case .page(let after, let limit):
            var query = UserQuery(limit: Int64(limit))
            query.filter = after.map { .comparison(.objectID, .greater, .objectID($0)) }
            found = try await searches.accounts(matching: query, of: application)
        case .ordered(let order, let isDescending, let offset, let limit):
            var query = UserQuery(limit: Int64(limit))
            query.offset = Int64(offset)
            // Without an order, users are in that of their ids, which the index has.
            if order != .id || isDescending {
                query.order = [UserOrder(by: order.column(in: application), isDescending: isDescending)]
            }
            found = try await searches.accounts(matching: query, of: application)
        }
        try await store.recordReading(
            .search,
            of: found.count == 1 ? found.first?.user.objectID : nil,
            ["by": .array([.string("account")]), "found": .integer(Int64(found.count))],
            in: application.id,
            by: server.actor
        )
        return found
    }

    /// Returns the ids of the users whom names name.
    private func ids(of names: [AccountName], in application: Application) async throws(Failure) -> [ObjectID] {
        var (uids, emails, phones): ([String], [String], [String]) = ([], [], [])
        var identities: [IdentityKey] = []
        for name in names {
            switch name {
            case .uid(let uid): uids.append(uid)
            case .email(let email): emails.append(email)
            case .phone(let number): phones.append(number)
            case .identity(let keys): identities += keys
            }
        }
        var ids = try await store.users(ofUIDs: uids, in: application).map(\.value)
        ids += try await store.users(with: identities, in: application)
        if !emails.isEmpty {
            ids += try await searches.users(withEmails: emails, limit: Self.maxFound, of: application)
        }
        let phone = application.settings.firebase.phoneNumber
        if !phones.isEmpty, let property = application.properties.first(where: { $0.name == phone && $0.type.isText }) {
            var query = UserQuery(limit: Self.maxFound)
            query.filter = .isOne(.property(property), of: phones.map { .property(.text($0)) })
            query.order = [UserOrder(by: .created, isDescending: false)]
            ids += try await searches.users(matching: query, of: application).map(\.objectID)
        }
        return ids
    }

    /// Returns users whom the backend has just created or changed, without those who were deleted since.
    ///
    /// No reading is recorded: the audit log has the entries of the writing.
    ///
    /// - Throws: `store_unavailable` and similar errors.
    package func written(_ users: [ObjectID], in loaded: LoadedApplication) async throws(Failure) -> [AccountDetails] {
        try await store.accounts(users, of: loaded.application)
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
    /// The record is changed first, in a transaction of its own. Another transaction makes all other changes, in this
    /// order: removed identities, second factors, the new identity, claims and confirmation of the address, the status.
    ///
    /// The audit log has an entry for each change. Without any change, it records a reading, since the backend gets the
    /// account in any case.
    ///
    /// - Parameters:
    ///   - id: The user.
    ///   - change: The changes.
    ///   - server: The backend.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Throws: `not_found`; `identity_taken` for the identity of another user; `conflict` for an identity that the
    ///   user cannot get; `factor_not_offered` for a second factor that the user does not have; the errors of a
    ///   server's change of a record.
    package func change(
        _ id: ObjectID,
        by change: AccountChange,
        for server: ServerCaller,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        // Every refusal that needs nothing but the former state comes before the first write.
        let plans = try await plans(of: change, for: id, in: loaded)
        var isRecorded = false
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
            isRecorded = true
        }
        if !plans.isEmpty {
            let changed = try await store.changing(id, of: loaded.application, by: server, plans: plans)
            _ = await revoker.revokePermissions(by: changed.tokens, formerlyOf: id, in: loaded, actor: server.actor)
            isRecorded = isRecorded || changed.isRecorded
        }
        if isRecorded { return }
        try await store.recordReading(.read, of: id, in: loaded.application.id, by: server.actor)
    }

    /// Returns the plans of all changes beyond the record.
    ///
    /// - Throws: `not_found`, `factor_not_offered`, `store_unavailable` and similar errors.
    private func plans(
        of change: AccountChange,
        for user: ObjectID,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [UserChangePlan] {
        let application = loaded.application
        var plans: [UserChangePlan] = []
        // An identity goes before another one of its provider comes.
        if !change.unlinked.isEmpty {
            plans.append { stored in
                stored.loginMethods(of: change.unlinked).map {
                    .unlink(provider: $0.provider, app: $0.app, subject: $0.subject)
                }
            }
        }
        if change.keptFactors != nil {
            let before = try await store.existingUser(user, of: application)
            for factor in try before.factors(besides: change.keptFactors) where factor.kind.standsAlone {
                let mail = Mail.factorRemoved(kind: factor.kind, link: nil, days: 0, name: before.user.name)
                let told = try await notices.notices(of: mail, to: before.user, in: loaded)
                plans.append { stored in
                    guard stored.factors.contains(where: { $0.id == factor.id }) else { return [] }
                    return [.removeFactors(only: factor.id, telling: told)]
                }
            }
        }
        if let identity = change.linked {
            let banHash = try await banKey.hasher(of: application.id)(identity)
            plans.append { _ in [.link(identity, banHash: banHash)] }
        }
        if !change.settings.isEmpty {
            let settings = change.settings
            plans.append { _ in [.setAccount(settings)] }
        }
        if let isDisabled = change.isDisabled {
            plans.append { stored in
                application.change(of: stored, to: isDisabled ? .disabled : .enabled).map { [$0] } ?? []
            }
        }
        return plans
    }
}

extension AccountOrder {
    /// Returns the column of the order: the id if the application lacks the property.
    fileprivate func column(in application: Application) -> UserColumn {
        switch self {
        case .id: return .objectID
        case .created: return .created
        case .lastLogin: return .lastLogin
        case .email: return Self.column(.email, in: application)
        case .name: return Self.column(application.settings.firebase.displayName, in: application)
        }
    }

    private static func column(_ name: PropertyName, in application: Application) -> UserColumn {
        application.properties.first { $0.name == name }.map(UserColumn.property) ?? .objectID
    }
}

extension StoredUser {
    /// A login method, with the login name of a password as its subject.
    fileprivate typealias Method = (provider: String, app: String, subject: String)

    /// Returns the second factors that a backend removes by naming those that the user keeps: none for nil, all for an
    /// empty list.
    ///
    /// - Throws: `factor_not_offered` for a factor that the user does not have.
    fileprivate func factors(besides kept: [ObjectID]?) throws(Failure) -> [StoredUser.Factor] {
        guard let kept else { return [] }
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
    /// Changes a user for a backend, as ``change(_:of:by:plans:)`` does.
    fileprivate func changing(
        _ id: ObjectID,
        of application: Application,
        by server: ServerCaller,
        plans: [UserChangePlan]
    ) async throws(Failure) -> ChangedUser {
        do {
            return try await change(id, of: application, by: server.actor, plans: plans)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.internal, "The change could not be made.", cause: "\(error)")
        }
    }
}
