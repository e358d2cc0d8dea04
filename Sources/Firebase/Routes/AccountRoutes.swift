import Accounts
import Applications
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import Providers
import PublicAPI

/// The routes by which users see and change their accounts (docs/protocols/firebase.md §5).
struct AccountRoutes {
    let tokens: IDTokens
    let accountUpdate: AccountUpdate
    let linking: Linking
    let deletions: AccountDeletions
    let verification: AddressVerification
    let opening: DialogOpening
    let random: RandomSource

    /// Mounts the routes.
    ///
    /// - Parameters:
    ///   - paths: The paths with a rate limit.
    ///   - unlimited: The paths without one. Each page that loads calls `accounts:lookup`: a refusal would log the user
    ///     out.
    func mount(on paths: Firebase.Paths, unlimited: Firebase.Paths) {
        unlimited.on(.lookup) { request, _, application in
            let account = try await tokens.account(of: try await .read(request), in: application)
            var json = JSONObject(kind: "GetAccountInfoResponse")
            json.append("users", .array([.object(Account.json(account, in: application))]))
            return .google(json)
        }
        paths.on(.update) { request, context, application in
            try await update(try await .read(request), context, application)
        }
        paths.on(.delete) { request, context, application in
            let facts = try await tokens.facts(of: try await .read(request), in: application)
            _ = try await deletions.delete(
                facts.user.objectID,
                token: facts.key,
                server: nil,
                in: application.loaded,
                logger: context.logger
            )
            return .google(JSONObject(kind: "DeleteAccountResponse"))
        }
        paths.on(.revokeToken) { request, _, application in
            // The service itself revokes the provider's tokens when the user is deleted.
            let fields = try await CallFields.read(request)
            _ = try await tokens.facts(of: fields, in: application)
            return .google([:])
        }
        paths.on(.createAuthUri) { request, context, application in
            let fields = try await CallFields.read(request)
            guard fields.has("providerId") else { return try Self.methods(ofUserWith: fields) }
            return try await begin(fields, request, context, application)
        }
    }

    /// Returns the response to the question which login methods an address has.
    ///
    /// The response does not show whether an account has the address.
    private static func methods(ofUserWith fields: CallFields) throws(Failure) -> Response {
        guard let identifier = try fields.filled("identifier") else {
            throw .google("MISSING_IDENTIFIER", "Send an e-mail address as identifier.")
        }
        guard EmailAddress(identifier) != nil else {
            throw .google("INVALID_IDENTIFIER", "identifier is no e-mail address.")
        }
        var json = JSONObject(kind: "CreateAuthUriResponse")
        json.append("sessionId", .string("none"))
        return .google(json)
    }

    /// Begins a login by a provider's dialog for a client that opens the browser itself.
    ///
    /// The login ends at `continueUri` with a login code. The client sends the code in a call of
    /// `accounts:signInWithIdp`.
    private func begin(
        _ fields: CallFields,
        _ request: Request,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        let id = try fields.filled("providerId") ?? ""
        let provider = try application.provider(id)
        guard let target = try fields.filled("continueUri") else {
            throw .google("MISSING_CONTINUE_URI", "Send the address at which the login ends as continueUri.")
        }
        guard try application.loaded.dialogs(of: provider).returnURLs.contains(where: { $0.hasSameBytes(as: target) })
        else { throw .google("UNAUTHORIZED_DOMAIN", "continueUri must be one of the provider's returnUrls.") }
        let session = DialogSession(of: id, random: random)
        var dialog = DialogRequest()
        dialog.redirectAfterLoginURL = target
        dialog.codeChallenge = session.challenge
        dialog.wishes = HandlerQuery.wishes(
            scopes: try fields.filled("oauthScope"),
            separator: " ",
            custom: fields.value("customParameter").map(\.text)
        )
        let base = try context.base(of: request)
        let start = try await opening.open(dialog, of: provider, for: application.loaded) { () throws(Failure) in base }
        var json = JSONObject(kind: "CreateAuthUriResponse")
        json.append("authUri", .string(start))
        json.append("providerId", .string(id))
        json.append("sessionId", .string(session.id))
        return .google(json)
    }

    private func update(
        _ fields: CallFields,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        for (name, error) in Self.administration where fields.has(name) {
            throw .google(error, "Only an administrator may send \(name).")
        }
        if let code = try fields.filled("oobCode") {
            let user = try await verification.confirm(by: code, in: application.loaded, logger: context.logger)
            var json = JSONObject(kind: "SetAccountInfoResponse")
            if let email = user.email { json.append("email", .string(email)) }
            json.append("emailVerified", .bool(user.emailVerified))
            return .google(json)
        }
        guard fields.has("idToken") else {
            throw .google("INVALID_REQ_TYPE", "Unsupported request parameters.")
        }
        // The whole call is read before anything is written.
        let record = try Self.record(fields, in: application)
        var removed: [String] = []
        for provider in try fields.texts("deleteProvider") { removed.append(try Self.method(named: provider)) }
        let facts = try await tokens.facts(of: fields, in: application)
        for method in removed { try await unlink(method, from: facts.key, context, application) }
        if !record.properties.members.isEmpty || record.password != nil {
            try await accountUpdate.update(facts, with: record, context, application)
        }
        // A new password ends all other sessions. The client goes on with new tokens of its own.
        let pair = try await tokens.open(facts.key, endingOthers: record.password != nil, in: application)
        var json = JSONObject(kind: "SetAccountInfoResponse")
        json.append("localId", .string(pair.account.id))
        pair.account.addProfile(to: &json)
        json.append("emailVerified", .bool(pair.facts.user.emailVerified))
        json.append("providerUserInfo", .array(pair.account.providers))
        json.append(pair)
        return .google(json)
    }

    /// The members that no client may send, each with the error for it.
    private static let administration: KeyValuePairs = [
        "customAttributes": "INSUFFICIENT_PERMISSION", "disableUser": "OPERATION_NOT_ALLOWED",
    ]

    /// Returns the login method that a client names by a providerId.
    private static func method(named provider: String) throws(Failure) -> String {
        let name = provider == "password" ? provider : ProviderID.provider(provider)?.text
        guard let name else { throw .google("INVALID_PROVIDER_ID", "There is no provider \(provider.prefix(40)).") }
        return name
    }

    private func unlink(
        _ method: String,
        from session: SessionKey,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) {
        do throws(Failure) {
            try await linking.unlink(
                LoginMethodSelection(provider: method, app: nil),
                fromUserOf: session,
                in: application.loaded,
                logger: context.logger
            )
        } catch {
            throw error.named("INVALID_PROVIDER_ID", for: .notFound)
        }
    }

    /// Returns the changes of properties and of the password that a call asks for.
    private static func record(_ fields: CallFields, in application: ServedApplication) throws(Failure) -> UserRecord {
        var record = UserRecord()
        let removed = try fields.texts("deleteAttribute")
        for (name, attribute, property) in [
            ("displayName", "DISPLAY_NAME", application.settings.displayName),
            ("photoUrl", "PHOTO_URL", application.settings.photoURL),
        ] {
            if removed.contains(attribute) {
                record.properties.append(property.text, .null)
            } else if let text = try fields.text(name) {
                record.properties.append(property.text, text.utf8.isEmpty ? .null : .string(text))
            }
        }
        if let email = try fields.filled("email") { record.properties.append(PropertyName.email.text, .string(email)) }
        if let password = try fields.filled("password") { record.password = .string(password) }
        return record
    }
}

extension AccountUpdate {
    /// Changes the user of a session, at a call of that user.
    func update(
        _ facts: SessionFacts,
        with record: UserRecord,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) {
        _ = try await update(
            facts.user.objectID,
            with: record,
            token: facts.key,
            server: nil,
            from: context.source,
            in: application.loaded,
            logger: context.logger
        )
    }
}
