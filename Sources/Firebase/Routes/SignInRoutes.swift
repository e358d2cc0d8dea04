import Accounts
import Applications
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The routes of sign-up and login (docs/protocols/firebase.md §3 and §4).
struct SignInRoutes {
    let tokens: IDTokens
    let loginFlow: LoginFlow
    let linking: Linking
    let sameAddressLogins: SameAddressLogins
    let passwordLogins: PasswordLogins
    let registrations: Registrations
    let accountUpdate: AccountUpdate
    let mailedLogins: MailedLogins

    func mount(on paths: Firebase.Paths) {
        paths.on(.signUp) { request, context, application in
            try await signUp(try await .read(request), context, application)
        }
        paths.on(.signInWithPassword) { request, context, application in
            let fields = try await CallFields.read(request)
            let signedIn: LoginResult
            do throws(Failure) {
                signedIn = try await logIn(by: try Self.password(fields), context, application)
            } catch {
                guard let pending = error.pendingMembers else { throw error }
                return .google(JSONObject(JSONObject(kind: "VerifyPasswordResponse").members + pending.members))
            }
            let pair = try await tokens.open(signedIn, in: application)
            return Self.reply(kind: "VerifyPasswordResponse", pair) { json, pair in
                json.append("registered", .bool(true))
                if pair.account.displayName == nil { json.append("displayName", .string("")) }
            }
        }
        paths.on(.signInWithEmailLink) { request, context, application in
            try await signIn(byLink: try await .read(request), context, application)
        }
        paths.on(.signInWithIdp) { request, context, application in
            let fields = try await CallFields.read(request, limits: .pendingLogin)
            if let pending = try fields.filled("pendingToken") {
                return try await link(pending, fields, context, application)
            }
            let call = try ProviderSignIn(fields, in: application)
            if let pending = call.pendingLogin { return try await link(pending, fields, context, application) }
            do throws(Failure) {
                return call.fields.has("idToken")
                    ? try await link(call, context, application) : try await signIn(by: call, context, application)
            } catch {
                if let response = try call.response(to: error) { return response }
                throw error
            }
        }
    }

    // MARK: Passwords and guests

    private func signUp(
        _ fields: CallFields,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        let kind = "SignupNewUserResponse"
        guard fields.has("email") || fields.has("password") else {
            let guest = try await registrations.registerGuest(
                usesRefreshTokens: true,
                from: context.source,
                in: application.loaded,
                logger: context.logger
            )
            return Self.reply(kind: kind, try await tokens.open(guest, in: application))
        }
        let password = try Self.password(fields)
        var record = UserRecord(
            properties: [PropertyName.email.text: .string(password.email)],
            password: .string(password.password.reveal())
        )
        if let name = try fields.filled("displayName") {
            record.properties.append(application.settings.displayName.text, .string(name))
        }
        if fields.has("idToken") {
            return try await upgrade(fields, to: record, password, context, application)
        }
        let registered = try await registrations.register(
            record,
            token: nil,
            from: context.source,
            in: application.loaded,
            logger: context.logger
        )
        let signedIn = try await logIn(registered, context, application)
        return Self.reply(kind: kind, try await tokens.open(signedIn, in: application))
    }

    /// Gives the user of an ID token a password.
    ///
    /// A guest becomes a user.
    private func upgrade(
        _ fields: CallFields,
        to record: UserRecord,
        _ password: PasswordFields,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        let facts = try await tokens.facts(of: fields, in: application)
        guard facts.user.status == .guest else {
            try await accountUpdate.update(facts, with: record, context, application)
            return Self.reply(kind: "SignupNewUserResponse", try await tokens.open(facts.key, in: application))
        }
        var record = record
        record.objectID = .string(facts.user.objectID.description)
        let registered = try await registrations.register(
            record,
            token: facts.key,
            from: context.source,
            in: application.loaded,
            logger: context.logger
        )
        let signedIn = try await logIn(registered, replacing: facts.key, context, application)
        return Self.reply(kind: "SignupNewUserResponse", try await tokens.open(signedIn, in: application))
    }

    /// The e-mail address and the password of a call.
    private struct PasswordFields {
        let email: String
        let password: Secret
    }

    private static func password(_ fields: CallFields) throws(Failure) -> PasswordFields {
        guard let email = try fields.text("email") else { throw .google("MISSING_EMAIL", "Send an e-mail address.") }
        guard EmailAddress(email) != nil else { throw .google("INVALID_EMAIL", "This is no e-mail address.") }
        guard let password = try fields.filled("password") else {
            throw .google("MISSING_PASSWORD", "Send a password.")
        }
        return PasswordFields(email: email.lowercased(), password: Secret(password))
    }

    private func logIn(
        by fields: PasswordFields,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> LoginResult {
        try await passwordLogins.logIn(
            PasswordLogin(
                login: fields.email,
                password: fields.password,
                previousSession: nil,
                client: context.refreshingClient,
                source: context.source
            ),
            to: application.loaded,
            logger: context.logger
        )
    }

    private func logIn(
        _ registered: WrittenUser,
        replacing session: SessionKey? = nil,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> LoginResult {
        try await passwordLogins.logIn(
            registered,
            client: context.refreshingClient,
            previousSession: session,
            to: application.loaded,
            logger: context.logger
        )
    }

    // MARK: Mailed links

    private func signIn(
        byLink fields: CallFields,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        let kind = "EmailLinkSigninResponse"
        try application.requireEmailLinks()
        guard let code = try fields.filled("oobCode") else { throw .google("MISSING_OOB_CODE", "Send oobCode.") }
        guard let email = try fields.filled("email") else { throw .google("MISSING_EMAIL", "Send an e-mail address.") }
        let request = MailedLogins.Request(
            code: code,
            email: email,
            // With an ID token, the link adds an address to its user. The refresh tokens are opened below, after that.
            client: fields.has("idToken") ? context.client(trustedDevice: nil) : context.refreshingClient,
            source: context.source
        )
        guard !fields.has("idToken") else {
            let session = try await mailedLogins.link(
                by: request,
                toUserOf: try await tokens.session(of: fields, in: application),
                in: application.loaded,
                logger: context.logger
            )
            return Self.reply(kind: kind, try await tokens.open(session, in: application))
        }
        let signedIn: LoginResult
        do throws(Failure) {
            signedIn = try await mailedLogins.logIn(by: request, to: application.loaded, logger: context.logger)
        } catch {
            guard let pending = error.pendingMembers else { throw error }
            return .google(JSONObject(JSONObject(kind: kind).members + pending.members))
        }
        return Self.reply(kind: kind, try await tokens.open(signedIn, in: application)) { json, _ in
            if signedIn.created { json.append("isNewUser", .bool(true)) }
        }
    }

    // MARK: Providers

    private func signIn(
        by call: ProviderSignIn,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        let creates = try call.fields.flag("autoCreate") ?? true
        let signedIn = try await loginFlow.login(
            call.request(creates ? .asking : .refused, by: context),
            to: application.loaded,
            logger: context.logger
        )
        return Self.reply(kind: ProviderSignIn.kind, try await tokens.open(signedIn, in: application)) { json, _ in
            call.addMembers(to: &json, of: signedIn.verified)
            if signedIn.created { json.append("isNewUser", .bool(true)) }
        }
    }

    private func link(
        _ call: ProviderSignIn,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        let session = try await tokens.session(of: call.fields, in: application)
        let linked = try await linking.link(
            call.request(by: context),
            toUserOf: session,
            in: application.loaded,
            logger: context.logger
        )
        return Self.reply(kind: ProviderSignIn.kind, try await tokens.open(session, in: application)) { json, _ in
            call.addMembers(to: &json, of: linked.verified)
        }
    }

    /// Links the identity of a pending login (`needConfirmation`) to the user of an ID token.
    private func link(
        _ pending: String,
        _ fields: CallFields,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        guard fields.has("idToken") else {
            throw .google(
                "INVALID_IDP_RESPONSE",
                "Log in to the account that has the address, and link this credential."
            )
        }
        let session = try await tokens.session(of: fields, in: application)
        let linked: LinkedUser
        do throws(Failure) {
            linked = try await sameAddressLogins.link(
                pending,
                toUserOf: session,
                by: context.client(trustedDevice: nil).keyLabel,
                in: application.loaded,
                logger: context.logger
            )
        } catch {
            throw error.named("INVALID_IDP_RESPONSE", for: .pendingLoginInvalid)
        }
        return Self.reply(kind: ProviderSignIn.kind, try await tokens.open(session, in: application)) { json, _ in
            let provider = linked.verified.identity.provider
            json.append("providerId", .string(ProviderID.id(of: provider.text)))
            json.append(linked.verified, of: provider)
        }
    }

    /// Returns the response with the user and the tokens of a session.
    private static func reply(
        kind: String,
        _ pair: IDTokens.Pair,
        _ add: (inout JSONObject, IDTokens.Pair) -> Void = { _, _ in }
    ) -> Response {
        var json = JSONObject(kind: kind)
        json.append("localId", .string(pair.account.id))
        pair.account.addProfile(to: &json)
        add(&json, pair)
        json.append(pair)
        return .google(json)
    }
}

extension APIContext {
    /// The client of a login, which continues its session by refresh tokens.
    var refreshingClient: LoginClient { client(trustedDevice: nil, usesRefreshTokens: true) }
}
