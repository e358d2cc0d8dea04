import Accounts
import Applications
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The routes that mail links, and the routes that carry them out (docs/protocols/firebase.md §6).
struct ActionRoutes {
    let tokens: IDTokens
    let passwordReset: PasswordReset
    let verification: AddressVerification
    let mailedLogins: MailedLogins

    func mount(on paths: Firebase.Paths) {
        paths.on(.sendOobCode) { request, context, application in
            let fields = try await CallFields.read(request)
            let link = try ActionLink(fields, of: request, by: try context.clientKey, in: application)
            let email = try await send(fields, link, context, application)
            var json = JSONObject(kind: "GetOobConfirmationCodeResponse")
            if let email { json.append("email", .string(email)) }
            return .google(json)
        }
        paths.on(.resetPassword) { request, context, application in
            let fields = try await CallFields.read(request)
            return .google(try await reset(fields, context, application))
        }
    }

    /// Mails a link.
    ///
    /// - Returns: The address that the response repeats. The SDK for the web reloads the user if this address is not
    ///   the user's.
    private func send(
        _ fields: CallFields,
        _ link: ActionLink,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> String? {
        let mode = try Self.mode(of: fields)
        guard try fields.flag("returnOobLink") != true else {
            throw .google(
                "INSUFFICIENT_PERMISSION",
                "Only a backend with a service account may get the link. Leave out returnOobLink."
            )
        }
        let (loaded, source) = (application.loaded, context.source)
        switch mode {
        case .resetPassword:
            let email = try Self.address(fields, "email")
            do throws(Failure) {
                try await passwordReset.restorePassword(
                    of: email.text,
                    as: link.wish,
                    from: source,
                    in: loaded,
                    logger: context.logger
                )
            } catch {
                throw error.named("EMAIL_NOT_FOUND", for: .loginUnknown)
            }
            return email.text
        case .verifyEmail:
            let session = try await tokens.session(of: fields, in: application)
            do throws(Failure) {
                return try await verification.sendVerification(
                    toUserOf: session,
                    as: link.wish,
                    from: source,
                    in: loaded
                )
            } catch {
                throw error.named("MISSING_EMAIL", for: .emailInvalid)
            }
        case .verifyAndChangeEmail:
            let email = try Self.address(fields, "newEmail")
            let session = try await tokens.session(of: fields, in: application)
            return try await verification.sendChange(
                to: email,
                ofUserOf: session,
                as: link.wish,
                from: source,
                in: loaded
            )
        case .signIn:
            try application.requireEmailLinks(for: link)
            let email = try Self.address(fields, "email")
            try await mailedLogins.sendLink(
                to: email,
                locale: link.locale,
                from: source,
                in: loaded,
                logger: context.logger
            ) { link.path(.signIn, $0) }
            return email.text
        }
    }

    /// Reads the purpose of a link.
    ///
    /// - Throws: `MISSING_REQ_TYPE`, `INVALID_REQ_TYPE`.
    static func mode(of fields: CallFields) throws(Failure) -> ActionLink.Mode {
        guard let type = try fields.filled("requestType") else {
            throw .google("MISSING_REQ_TYPE", "Send the purpose of the link as requestType, such as VERIFY_EMAIL.")
        }
        guard let mode = ActionLink.Mode(requestType: type) else {
            throw .google(
                "INVALID_REQ_TYPE",
                "requestType must be PASSWORD_RESET, VERIFY_EMAIL, VERIFY_AND_CHANGE_EMAIL or EMAIL_SIGNIN."
            )
        }
        return mode
    }

    /// Reads an e-mail address.
    ///
    /// - Throws: `MISSING_EMAIL`, `INVALID_EMAIL`, `MISSING_NEW_EMAIL`, `INVALID_NEW_EMAIL`.
    static func address(_ fields: CallFields, _ name: String) throws(Failure) -> EmailAddress {
        let isNew = name == "newEmail"
        guard let text = try fields.filled(name) else {
            throw .google(isNew ? "MISSING_NEW_EMAIL" : "MISSING_EMAIL", "Send an e-mail address as \(name).")
        }
        guard let address = EmailAddress(text) else {
            throw .google(isNew ? "INVALID_NEW_EMAIL" : "INVALID_EMAIL", "\(name) must be an e-mail address.")
        }
        return address
    }

    /// Returns what a code is for, and sets the new password if the call has one.
    private func reset(
        _ fields: CallFields,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> JSONObject {
        guard let code = try fields.filled("oobCode") else {
            throw .google("MISSING_OOB_CODE", "Send the code of the mailed link as oobCode.")
        }
        var json = JSONObject(kind: "ResetPasswordResponse")
        if try await mailedLogins.isCode(code, in: application.loaded), !fields.has("newPassword") {
            json.append("requestType", .string(ActionLink.Mode.signIn.requestType))
            return json
        }
        let facts = try await verification.facts(of: code, in: application.loaded)
        if let password = try fields.filled("newPassword") {
            try await passwordReset.resetPassword(
                by: code,
                to: Secret(password),
                keepingIdentities: false,
                showing: LinkFactorAnswer(nil, keyLabel: context.apiKey?.label, source: context.source),
                in: application.loaded,
                logger: context.logger
            )
        }
        json.append("requestType", ActionLink.Mode(facts.purpose).map { .string($0.requestType) } ?? .null)
        let isChange = facts.purpose == .newAddress
        if let email = isChange ? facts.present : facts.email { json.append("email", .string(email)) }
        if isChange { json.append("newEmail", .string(facts.email)) }
        return json
    }
}

extension ServedApplication {
    /// - Throws: `OPERATION_NOT_ALLOWED` unless the application lets users log in by mailed links;
    ///   `MISSING_CONTINUE_URI` if the link would lead nowhere.
    func requireEmailLinks(for link: ActionLink) throws(Failure) {
        try requireEmailLinks()
        guard link.continueURL != nil else {
            throw .google("MISSING_CONTINUE_URI", "Send the page of your app that logs the user in as continueUrl.")
        }
    }

    /// - Throws: `OPERATION_NOT_ALLOWED` unless the application lets users log in by mailed links.
    func requireEmailLinks() throws(Failure) {
        guard settings.emailLinks else {
            throw .google(
                "OPERATION_NOT_ALLOWED",
                "Users of this app cannot log in by mailed links. The operator can set firebase.emailLinks."
            )
        }
    }
}
