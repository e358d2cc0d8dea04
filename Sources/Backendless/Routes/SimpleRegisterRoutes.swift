import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import PublicAPI

/// The route of the "simple register" contract for small apps: one call for every login method.
///
/// The request has three fields. `access_type` is the login method: 0 a password, 1 Facebook, 2 Twitter. `passcode` is
/// the password, or the provider's token. `passkey` is the login name, or the user's id or name at the provider. The
/// service does not trust this id or name, and takes the user from the verified token.
struct SimpleRegisterRoutes {
    let registrations: Registrations
    let loginFlow: LoginFlow

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "register", .simpleRegister) { request, context, application in
            let fields = try SimpleRegisterFields(try await members(of: request))
            switch fields.accessType {
            case .password: return try await registerByPassword(fields, request, context, application)
            case .facebook: return try await logIn(by: .facebookPath, fields, request, context, application)
            case .twitter:
                return try await logIn(by: ProviderName(known: "twitter"), fields, request, context, application)
            }
        }
    }

    /// Returns the fields of a request whose body is a form or a JSON object.
    private func members(of request: Request) async throws(Failure) -> JSONObject {
        if let type = request.headers[.contentType], Request.essence(of: type, is: "application/x-www-form-urlencoded")
        {
            let form = try await request.formBody(upTo: Request.bodyLimit)
            var members = JSONObject()
            for name in SimpleRegisterFields.names + [SimpleRegisterFields.invitationName] {
                if let value = try form.value(name) { members.append(name, .string(value)) }
            }
            return members
        }
        do throws(Failure) {
            return try await request.jsonObject()
        } catch {
            guard error.reason == .unsupportedMediaType else { throw error }
            throw Failure(
                .unsupportedMediaType,
                "The body must be a form (Content-Type: application/x-www-form-urlencoded) or JSON (application/json)."
            )
        }
    }

    private func registerByPassword(
        _ fields: SimpleRegisterFields,
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws(Failure) -> Response {
        do throws(Failure) {
            let written = try await registrations.register(
                UserRecord(
                    properties: [application.application.settings.identityProperty.text: .string(fields.passkey)],
                    password: .string(fields.passcode.reveal())
                ),
                invitation: fields.invitation,
                token: nil,
                from: context.source,
                in: application,
                logger: context.logger
            )
            return Self.reply(created: true, written.user)
        } catch {
            guard error.reason == .loginTaken else { throw error }
            return Self.reply(created: false, nil)
        }
    }

    private func logIn(
        by provider: ProviderName,
        _ fields: SimpleRegisterFields,
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws(Failure) -> Response {
        let login = LoginRequest(
            provider: provider,
            credential: CredentialFields(accessToken: fields.passcode.reveal()),
            mapping: nil,
            appID: nil,
            previousSession: request.userSession,
            client: context.client(trustedDevice: nil),
            invitation: fields.invitation
        )
        let signedIn = try await loginFlow.login(login, to: application, logger: context.logger)
        return Self.reply(created: signedIn.created, signedIn.user, token: signedIn.token)
    }

    private static func reply(created: Bool, _ user: User?, token: SessionToken? = nil) -> Response {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writer.member("result", created ? "created" : "existed")
            guard let user else { return }
            writer.key("user")
            UserReply.write(user, token: token, into: &writer)
        }
        return .json(writer, status: created ? .created : .ok)
    }
}

/// The three fields of a request of the "simple register" contract, and the invitation of a new user.
private struct SimpleRegisterFields {
    enum AccessType: String, CaseIterable {
        case password = "0"
        case facebook = "1"
        case twitter = "2"
    }

    let accessType: AccessType
    let passkey: String
    let passcode: Secret
    let invitation: InvitationToken?

    static let names = ["access_type", "passkey", "passcode"]
    static let invitationName = "invitation"

    /// Reads the three fields from a request.
    ///
    /// - Throws: `malformed_request`. `errorData.missing` lists the missing fields.
    init(_ members: JSONObject) throws(Failure) {
        var texts: [String: String] = [:]
        for name in Self.names {
            guard let value = members.present(name) else { continue }
            guard let text = value.string ?? value.integer.map(String.init) else {
                throw Failure(.malformedRequest, "\(name) must be a text or a whole number, it is \(value.kind).")
            }
            if !text.isEmpty { texts[name] = text }
        }
        guard let type = texts["access_type"], let passkey = texts["passkey"], let passcode = texts["passcode"] else {
            let missing = Self.names.filter { texts[$0] == nil }
            throw Failure(
                .malformedRequest,
                "Missing fields: \(missing.joined(separator: ", ")).",
                details: ["missing": .array(missing.map(JSONValue.string))]
            )
        }
        guard let accessType = AccessType.allCases.first(where: { $0.rawValue.hasSameBytes(as: type) }) else {
            throw Failure(.malformedRequest, "access_type must be 0 (password), 1 (Facebook) or 2 (Twitter).")
        }
        self.accessType = accessType
        self.passkey = passkey
        self.passcode = Secret(passcode)
        invitation = try members.text(Self.invitationName).map { InvitationToken($0) }
    }
}

extension Operation {
    fileprivate static let simpleRegister = Operation(
        "simpleRegister",
        under: "user",
        "The simple register contract: one request for every login method.",
        more: "A form (application/x-www-form-urlencoded) with the same members is also accepted.",
        body: Content(
            .anyObject.adding(
                [
                    "access_type": .oneOf("0", "1", "2").described(
                        "0: password, 1: Facebook, 2: Twitter. A number is also accepted."
                    ),
                    "passkey": .string.described("The e-mail address, or the user's id or name at the provider."),
                    "passcode": .string.described(
                        """
                        The password, or the provider's access token. For Twitter, token and secret separated by a \
                        colon.
                        """
                    ),
                ],
                optional: ["invitation": .invitation]
            ).named("SimpleRegister")
        ),
        .success("The account already exists.", .simpleRegistration),
        or: [
            .success(
                """
                The account was created.
                """,
                status: 201,
                .simpleRegistration
            ), .forbidden, .unprocessable, .timeout,
        ]
    )
}

extension Schema {
    fileprivate static let simpleRegistration = object(
        ["result": .oneOf("created", "existed")],
        optional: ["user": .user]
    ).named("SimpleRegistration")
}
