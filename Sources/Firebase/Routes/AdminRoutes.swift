import Accounts
import Applications
import Domain
import Encodings
import FoundationEssentials
import HTTP
import HTTPTypes
import Hummingbird
import PublicAPI

/// The routes by which a backend administers the users of its project (docs/protocols/firebase.md §10).
///
/// This is a class because the handlers of all calls keep it.
final class AdminRoutes: Sendable {
    private let tokens: IDTokens
    private let serviceAccounts: ServiceAccounts
    let accounts: BackendAccounts
    let collection: UserCollection
    private let records: OtherRecords
    private let deletions: AccountDeletions
    let verification: AddressVerification
    let mailedLogins: MailedLogins
    private let importing: ImportingUsers
    private let clock: WallClock

    init(_ useCases: UseCases, tokens: IDTokens, importing: @escaping ImportingUsers, clock: WallClock) {
        self.tokens = tokens
        serviceAccounts = useCases.serviceAccounts
        accounts = useCases.backendAccounts
        collection = useCases.collection
        records = useCases.otherRecords
        deletions = useCases.accountDeletions
        verification = useCases.addressVerification
        mailedLogins = useCases.mailedLogins
        self.importing = importing
        self.clock = clock
    }

    /// A backend that has sent a request.
    struct Backend: Sendable {
        let server: ServerCaller
        let application: ServedApplication
    }

    private typealias Handler = @Sendable (Request, APIContext, Backend) async throws -> Response

    func mount(on routes: ApplicationRoutes) {
        func on(_ call: Call, use handler: @escaping Handler) {
            routes.onRoot(
                call.method,
                call.fullPath,
                authorizing: { [self] request, context in
                    let backend = try await authorize(request, context)
                    return (backend, backend.application.loaded)
                },
                use: handler
            )
        }
        on(.createAccount) { [self] request, context, backend in
            try await create(try await .administration(request), backend, context)
        }
        on(.lookUpAccounts) { [self] request, _, backend in
            let fields = try await CallFields.administration(request)
            let found = try await accounts.accounts(
                named: try Self.names(fields, in: backend.application),
                by: backend.server,
                in: backend.application.loaded
            )
            var json = JSONObject(kind: "GetAccountInfoResponse")
            // The SDK for Node.js takes an empty list for a user.
            if !found.isEmpty { json.append("users", .array(backend.json(of: found))) }
            return .google(json)
        }
        on(.updateAccount) { [self] request, context, backend in
            try await update(try await .administration(request), backend, context)
        }
        on(.deleteAccount) { [self] request, context, backend in
            let fields = try await CallFields.administration(request)
            let user = try await user(fields, of: backend)
            _ = try await delete(user, for: backend, context)
            return .google(JSONObject(kind: "DeleteAccountResponse"))
        }
        on(.deleteAccounts) { [self] request, context, backend in
            try await deleteAll(try await .administration(request), backend, context)
        }
        on(.listAccounts) { [self] request, _, backend in try await page(request, backend) }
        on(.queryAccounts) { [self] request, _, backend in
            try await query(try await .administration(request), backend)
        }
        on(.importAccounts) { [self] request, _, backend in
            let fields = try await CallFields.read(request, limits: .userImport)
            let refused = try await importing(
                try GivenUsers(fields, in: backend.application),
                backend.application.loaded.application.id,
                backend.server.actor
            )
            var json = JSONObject(kind: "UploadAccountResponse")
            if !refused.isEmpty {
                let errors = refused.map { index, message -> JSONValue in
                    .object(["index": .integer(Int64(index)), "message": .string(message)])
                }
                json.append("error", .array(errors))
            }
            return .google(json)
        }
        on(.makeLink) { [self] request, _, backend in
            try await makeLink(try await .administration(request), request, backend)
        }
        on(.createSessionCookie) { [self] request, _, backend in
            let fields = try await CallFields.administration(request)
            let cookie = try await tokens.sessionCookie(of: fields, in: backend.application)
            return .google(["sessionCookie": .string(cookie.reveal())])
        }
    }

    // MARK: Authorization

    /// Returns the backend whose access token a request has.
    ///
    /// - Throws: `operator_token_invalid`; `operator_forbidden` for another project, and for a browser.
    private func authorize(_ request: Request, _ context: APIContext) async throws(Failure) -> Backend {
        guard let token = Self.token(of: request) else {
            throw Failure(
                .operatorTokenInvalid,
                """
                The request has no access token. Send the access token of a service account of this project in the \
                header Authorization, after the word Bearer.
                """
            )
        }
        let (account, loaded) = try await serviceAccounts.account(byAccessToken: token)
        guard request.headers[.origin] == nil else {
            throw Failure(
                .operatorForbidden,
                """
                A browser sent the access token of a service account, which anyone who opens the page can read. \
                Withdraw this service account, and send these calls from your backend alone.
                """
            )
        }
        let application = try ServedApplication(loaded)
        guard context.parameters.get("project")?.hasSameBytes(as: application.projectID) == true else {
            throw Failure(
                .operatorForbidden,
                "This service account belongs to another project. Use the project_id of its key file."
            )
        }
        return Backend(
            server: ServerCaller(account: account, source: context.peer.text),
            application: application
        )
    }

    /// Returns the access token of a request: the token of the scheme Bearer, or the password of the scheme Basic.
    ///
    /// In its mode for emulators, the SDK for Python sends the user and the password of the emulator's address.
    private static func token(of request: Request) -> String? {
        let words = (request.headers[.authorization] ?? "").split(separator: " ")
        guard words.count == 2 else { return nil }
        switch words[0].lowercased() {
        case "bearer": return String(words[1])
        case "basic":
            guard words[1].utf8.count <= 2048, let data = Data(base64Encoded: String(words[1])),
                let text = String(validating: data, as: UTF8.self), let colon = text.firstIndex(of: ":")
            else { return nil }
            return String(text[colon...].dropFirst())
        default: return nil
        }
    }

    // MARK: Writing

    /// The maximum number of users in a call.
    static let maxInBatch = 1000

    private func create(
        _ fields: CallFields,
        _ backend: Backend,
        _ context: APIContext
    ) async throws(Failure) -> Response {
        let record = try UserRecord(new: fields, in: backend.application)
        let made: [WrittenUser]
        do throws(Failure) {
            made = try await records.create(
                [record],
                by: backend.server,
                in: backend.application.loaded,
                logger: context.logger
            )
        } catch {
            throw error.named("DUPLICATE_LOCAL_ID", for: .conflict)
        }
        return try await reply("SignupNewUserResponse", made.map(\.user.objectID), backend)
    }

    private func update(
        _ fields: CallFields,
        _ backend: Backend,
        _ context: APIContext
    ) async throws(Failure) -> Response {
        let user = try await user(fields, of: backend)
        let change = try AccountChange(fields, in: backend.application, now: clock.seconds)
        do throws(Failure) {
            try await accounts.change(
                user,
                by: change,
                for: backend.server,
                from: context.source,
                in: backend.application.loaded,
                logger: context.logger
            )
        } catch {
            throw error.named("USER_NOT_FOUND", for: .notFound)
                .named("OPERATION_NOT_ALLOWED", for: .conflict, .factorNotOffered)
        }
        return try await reply("SetAccountInfoResponse", [user], backend)
    }

    /// Returns the response with users as they are now.
    private func reply(_ kind: String, _ users: [ObjectID], _ backend: Backend) async throws(Failure) -> Response {
        let found = try await accounts.written(users, in: backend.application.loaded)
        guard let details = found.first else { throw .google("USER_NOT_FOUND", "This user does not exist.") }
        let account = Account(details.facts, in: backend.application)
        var json = JSONObject(kind: kind)
        json.append("localId", .string(account.id))
        account.addProfile(to: &json)
        json.append("emailVerified", .bool(details.user.emailVerified))
        json.append("providerUserInfo", .array(account.providers))
        return .google(json)
    }

    private func delete(_ user: ObjectID, for backend: Backend, _ context: APIContext) async throws(Failure) {
        do throws(Failure) {
            _ = try await deletions.delete(
                user,
                token: nil,
                server: backend.server,
                in: backend.application.loaded,
                logger: context.logger
            )
        } catch {
            throw error.named("USER_NOT_FOUND", for: .notFound).named("OPERATION_NOT_ALLOWED", for: .conflict)
        }
    }

    /// Deletes users one after another; unknown users count as deleted.
    ///
    /// The response has the place in the list of each user who could not be deleted.
    private func deleteAll(
        _ fields: CallFields,
        _ backend: Backend,
        _ context: APIContext
    ) async throws(Failure) -> Response {
        let uids = try fields.texts("localIds")
        guard (1...Self.maxInBatch).contains(uids.count) else {
            throw .google("LOCAL_ID_LIST_EXCEEDS_LIMIT", "localIds must be a list of 1 to \(Self.maxInBatch) uids.")
        }
        let loaded = backend.application.loaded
        let users = try await accounts.users(ofUIDs: uids, in: loaded)
        let isForced = try fields.flag("force") == true
        let found =
            isForced ? [] : try await accounts.accounts(.ids(Array(users.values)), by: backend.server, in: loaded)
        let enabled = Set(found.filter { $0.user.status != .disabled }.map(\.user.objectID))
        var errors: [JSONValue] = []
        for (index, uid) in uids.enumerated() {
            guard let user = FirebaseUID(uid).flatMap({ users[$0] }) else { continue }
            var message: String?
            if enabled.contains(user) {
                message = "NOT_DISABLED : Disable the account before bulk deletion."
            } else {
                do throws(Failure) {
                    try await delete(user, for: backend, context)
                } catch {
                    // The user may be in the list twice.
                    message = error.nameOfGoogle == "USER_NOT_FOUND" ? nil : error.message
                }
            }
            guard let message else { continue }
            errors.append(
                .object(["index": .integer(Int64(index)), "localId": .string(uid), "message": .string(message)])
            )
        }
        return .google(errors.isEmpty ? [:] : ["errors": .array(errors)])
    }

    /// Returns the user that a call names by `localId`.
    ///
    /// - Throws: `MISSING_LOCAL_ID`, `USER_NOT_FOUND`.
    private func user(_ fields: CallFields, of backend: Backend) async throws(Failure) -> ObjectID {
        guard let uid = try fields.filled("localId") else {
            throw .google("MISSING_LOCAL_ID", "The call names no user. Send the uid of the user as localId.")
        }
        do throws(Failure) {
            return try await accounts.user(ofUID: uid, in: backend.application.loaded)
        } catch {
            throw error.named("USER_NOT_FOUND", for: .notFound)
        }
    }
}

extension AdminRoutes.Backend {
    func json(of found: [AccountDetails]) -> [JSONValue] { found.map { .object(Account.json($0, in: application)) } }
}

extension CallFields {
    /// Reads the body of a backend's request, which may name a thousand users.
    static func administration(_ request: Request) async throws(Failure) -> CallFields {
        try await read(request, limits: .administration)
    }
}

extension JSONLimits {
    /// The limits of a thousand users with their hashes and identities.
    fileprivate static let userImport = {
        var limits = request
        limits.bytes = 8_388_608
        limits.members = 100_000
        return limits
    }()

    fileprivate static let administration = {
        var limits = request
        limits.bytes = 524_288
        limits.members = 2048
        return limits
    }()
}
