import Accounts
import Applications
import Domain
import Encodings
import Hummingbird

/// The calls that read users, and the call that makes links.
extension AdminRoutes {
    // MARK: Reading

    static func names(
        _ fields: CallFields,
        in application: ServedApplication
    ) throws(Failure) -> [AccountName] {
        var names: [AccountName] = []
        names += try fields.texts("localId").map(AccountName.uid)
        names += try (fields.texts("email") + fields.texts("initialEmail")).map(AccountName.email)
        names += try fields.texts("phoneNumber").map(AccountName.phone)
        let identities = fields.value("federatedUserId")
        guard identities == nil || identities?.array != nil else {
            throw Failure(.malformedRequest, "federatedUserId must be a list of objects.")
        }
        for given in identities?.array ?? [] {
            guard let given = given.object.map(CallFields.init), let id = try given.filled("providerId"),
                let subject = try given.filled("rawId")
            else {
                throw Failure(.malformedRequest, "Each item of federatedUserId must have providerId and rawId.")
            }
            let provider = ProviderID.provider(id)
            names.append(
                .identity(among: provider.map { application.loaded.identities(of: subject, at: $0) } ?? [])
            )
        }
        guard !names.isEmpty else {
            throw .google(
                "MISSING_IDENTIFIER",
                "The call names no user. Send localId, email, phoneNumber or federatedUserId."
            )
        }
        guard names.count <= BackendAccounts.maxNamed else {
            throw .google(
                "LOCAL_ID_LIST_EXCEEDS_LIMIT",
                "The call names \(names.count) users. Name at most \(BackendAccounts.maxNamed) in one call."
            )
        }
        return names
    }

    func page(_ request: Request, _ backend: Backend) async throws(Failure) -> Response {
        let query = request.uri.queryParameters
        let limit = query.get("maxResults").map { Int($0) } ?? 20
        guard let limit, (1...BackendAccounts.maxPage).contains(limit) else {
            throw .google("INVALID_PAGE_SELECTION", "maxResults must be a number from 1 to \(BackendAccounts.maxPage).")
        }
        var after: ObjectID?
        if let text = query.get("nextPageToken"), !text.isEmpty {
            guard let id = ObjectID(text) else {
                throw .google("INVALID_PAGE_SELECTION", "nextPageToken must be the nextPageToken of the previous page.")
            }
            after = id
        }
        let found = try await accounts.accounts(
            .page(after: after, limit: limit + 1),
            by: backend.server,
            in: backend.application.loaded
        )
        let shown = Array(found.prefix(limit))
        var json = JSONObject(kind: "DownloadAccountResponse")
        json.append("users", .array(backend.json(of: shown)))
        if found.count > limit, let last = shown.last {
            json.append("nextPageToken", .string(last.user.objectID.description))
        }
        return .google(json)
    }

    func query(_ fields: CallFields, _ backend: Backend) async throws(Failure) -> Response {
        let loaded = backend.application.loaded
        guard try fields.flag("returnUserInfo") ?? true else {
            let caller = try await collection.searcher(token: nil, server: backend.server, in: loaded)
            let count = try await collection.count(nil, for: caller, in: loaded)
            return .google(["recordsCount": .string(String(count))])
        }
        let (limit, offset) = (try Self.number("limit", fields) ?? 500, try Self.number("offset", fields) ?? 0)
        guard (1...500).contains(limit) else {
            throw Failure(.malformedRequest, "limit must be a number from 1 to 500.")
        }
        var found: [AccountDetails]
        if let expressions = fields.value("expression")?.array, !expressions.isEmpty {
            found = try await accounts.accounts(
                named: try Self.names(matching: expressions),
                by: backend.server,
                in: loaded
            )
            found = Array(found.dropFirst(offset).prefix(limit))
        } else {
            found = try await accounts.accounts(
                .ordered(
                    try Self.order(fields),
                    isDescending: try fields.text("order")?.hasSameBytes(as: "DESC") == true,
                    offset: offset,
                    limit: limit
                ),
                by: backend.server,
                in: loaded
            )
        }
        return .google([
            "recordsCount": .string(String(found.count)), "userInfo": .array(backend.json(of: found)),
        ])
    }

    private static func names(matching expressions: [JSONValue]) throws(Failure) -> [AccountName] {
        guard expressions.count <= BackendAccounts.maxNamed else {
            throw Failure(.malformedRequest, "expression must have at most \(BackendAccounts.maxNamed) items.")
        }
        var names: [AccountName] = []
        for expression in expressions {
            guard let fields = expression.object.map(CallFields.init) else {
                throw Failure(.malformedRequest, "Each item of expression must be an object.")
            }
            if let email = try fields.filled("email") { names.append(.email(email)) }
            if let number = try fields.filled("phoneNumber") { names.append(.phone(number)) }
            if let uid = try fields.filled("userId") { names.append(.uid(uid)) }
        }
        return names
    }

    private static func order(_ fields: CallFields) throws(Failure) -> AccountOrder {
        switch try fields.text("sortBy") {
        case nil, "SORT_BY_FIELD_UNSPECIFIED", "USER_ID": return .id
        case "NAME": return .name
        case "CREATED_AT": return .created
        case "LAST_LOGIN_AT": return .lastLogin
        case "USER_EMAIL": return .email
        default:
            throw Failure(
                .malformedRequest,
                "sortBy must be USER_ID, NAME, CREATED_AT, LAST_LOGIN_AT or USER_EMAIL."
            )
        }
    }

    private static func number(_ name: String, _ fields: CallFields) throws(Failure) -> Int? {
        guard let text = try fields.text(name) else { return nil }
        guard let number = Int(text), (0...1_000_000_000).contains(number) else {
            throw Failure(.malformedRequest, "\(name) must be a number from 0 to 1000000000.")
        }
        return number
    }

    // MARK: Links

    /// Makes the link of a mail that the backend sends itself.
    func makeLink(
        _ fields: CallFields,
        _ request: Request,
        _ backend: Backend
    ) async throws(Failure) -> Response {
        guard try fields.flag("returnOobLink") == true else {
            throw Failure(
                .malformedRequest,
                """
                returnOobLink must be true, since a backend sends the mail itself. To have this service send the mail, \
                call accounts:sendOobCode with an API key.
                """
            )
        }
        let mode = try ActionRoutes.mode(of: fields)
        let link = try ActionLink(fields, of: request, by: nil, in: backend.application)
        let email = try ActionRoutes.address(fields, "email")
        let made: (address: Secret, code: Secret)
        if let purpose = mode.purpose {
            do throws(Failure) {
                made = try await verification.makeLink(
                    purpose,
                    forUserAt: email,
                    newAddress: purpose == .newAddress ? try ActionRoutes.address(fields, "newEmail") : nil,
                    as: link.wish,
                    by: backend.server,
                    in: backend.application.loaded
                )
            } catch {
                throw error.named("EMAIL_NOT_FOUND", for: .loginUnknown)
            }
        } else {
            try backend.application.requireEmailLinks(for: link)
            made = try await mailedLogins.makeLink(
                for: email,
                by: backend.server,
                in: backend.application.loaded
            ) { link.path(.signIn, $0) }
        }
        var json = JSONObject(kind: "GetOobConfirmationCodeResponse")
        json.append("email", .string(email.text))
        json.append("oobCode", .string(made.code.reveal()))
        json.append("oobLink", .string(made.address.reveal()))
        return .google(json)
    }
}
