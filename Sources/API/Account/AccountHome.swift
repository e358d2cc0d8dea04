import Accounts
import Applications
import HTTP
import HTTPTypes
import Hummingbird
import Limiting
import Logins
import NIOCore
import Providers
import Vocabulary

/// What somebody sees of the own account, and what of it a button changes.
extension AccountPages {
    func mountAccount(on pages: Mount) {
        action("/methods/remove", on: pages, counting: .login) { (visit, form) throws(Failure) in
            try await linking.unlink(
                LoginMethodSelection(provider: try form.value("provider") ?? "", app: try form.value("app")),
                fromUserOf: visit.token,
                in: visit.loaded,
                logger: visit.asked.context.logger
            )
            return .seeOther(visit.asked.path)
        }
        action("/sessions/end", on: pages) { (visit, form) throws(Failure) in
            try await sessions.endSession(try form.value("session") ?? "", ofSession: visit.token, in: visit.loaded)
            return .seeOther(visit.asked.path)
        }
        action("/sessions/end-others", on: pages) { (visit, _) throws(Failure) in
            _ = try await sessions.endOtherSessions(ofSession: visit.token, in: visit.loaded)
            return .seeOther(visit.asked.path)
        }
        // Somebody has shown what was asked for, of something that no form was left of.
        action("/proof", on: pages, counting: .password) { (visit, _) throws(Failure) in .seeOther(visit.asked.path) }
        page("/data", on: pages) { (visit) throws(Failure) in try await data(visit) }
    }

    func home(_ visit: AccountVisit) async throws(Failure) -> Response {
        let (asked, language, loaded) = (visit.asked, visit.language, visit.loaded)
        let methods = try await linking.loginMethods(ofUserOf: visit.token, in: loaded)
        let factors = try await ownFactors.factors(of: visit.token, in: loaded).factors
        let sessions = try await sessions.sessions(ofSession: visit.token, in: loaded)
        let hasPassword = methods.contains { $0.provider == ProviderName.password.text }
        let unlinked = dialogs(of: loaded).filter { provider in
            !methods.contains { $0.provider == provider.name.text }
        }
        let links = unlinked.map { provider in
            asked.button(to: "/providers/\(provider.name)/start", .linkWith(provider: provider.title))
        }
        let isGuest = visit.user.status == .guest
        let changes: HTML =
            isGuest ? "<p>\(language(.isGuest))</p>\n" : asked.button(to: "/address", .changeAddress)
        let password: HTML =
            isGuest ? "" : asked.button(to: "/password", hasPassword ? .changePassword : .setPassword)
        let mayDelete = try await collection.has(.deleteOwn, visit.user, in: loaded)
        let deletion = mayDelete ? asked.button(to: "/delete", .delete) : ""
        let body: HTML = """
            \(done(asked))\(facts(of: visit))\(changes)
            <h2>\(language(.loginMethods))</h2>
            \(rows(methods.map { row(of: $0, among: methods, visit) }, orSay: .noMethods, language))
            \(links.joined())\(password)
            <h2>\(language(.secondFactors))</h2>
            \(rows(factors.map { row(of: $0, language) }, orSay: .noFactors, language))
            <h2>\(language(.sessions))</h2>
            \(rows(sessions.map { row(of: $0, visit) }, orSay: .thisSession, language))
            \(sessions.count > 1 ? visit.form(to: "/sessions/end-others", button(.endOthers, language)) : "")
            <h2>\(language(.data))</h2>
            \(asked.button(to: "/data", .downloadData))\(deletion)
            \(visit.form(to: "/sign-out", button(.signOut, language)))
            """
        return asked.response(.title, body, by: errors)
    }

    /// What has just been done, of a closed list: nobody puts another text there.
    private func done(_ asked: AccountRequest) -> HTML {
        let text: AccountText? =
            switch asked.query["done"] {
            case "address": .addressChanged
            case "password": .passwordChanged
            default: nil
            }
        return text.map { "<p role=\"status\">\(asked.language($0))</p>\n" } ?? ""
    }

    private func facts(of visit: AccountVisit) -> HTML {
        let (user, language) = (visit.user, visit.language)
        let address: HTML
        if let email = user.shown(.email) {
            address = "\(email) (\(language(user.emailVerified ? .isConfirmed : .isUnconfirmed)))"
        } else {
            address = language(.noAddress)
        }
        let name: HTML = user.shown(.name).map { "<dt>\(language(.name))</dt>\n<dd>\($0)</dd>\n" } ?? ""
        return """
            <dl>
            \(name)<dt>\(language(.address))</dt>
            <dd>\(address)</dd>
            <dt>\(language(.since))</dt>
            <dd>\(language.day(user.created))</dd>
            </dl>

            """
    }

    // MARK: Lists

    private func rows(_ rows: [HTML], orSay none: AccountText, _ language: PageLanguage) -> HTML {
        rows.isEmpty ? "<p>\(language(none))</p>\n" : "<ul class=\"rows\">\n\(rows.joined())</ul>\n"
    }

    private func row(of method: LoginMethod, among methods: [LoginMethod], _ visit: AccountVisit) -> HTML {
        let language = visit.language
        let canGo = methods.count > 1
        let isOnlyOne = methods.count { $0.provider == method.provider } == 1
        let isPassword = method.provider == ProviderName.password.text
        let isPasskey = method.provider == FactorKind.passkey.rawValue
        let provider = title(of: method.provider, visit)
        let title: AccountText =
            isPassword
            ? .passwordMethod(login: method.subject)
            : isPasskey
                ? .passkeyMethod : .identityMethod(provider: provider, subject: isOnlyOne ? nil : method.subject)
        let state: HTML =
            if method.isRevoked {
                language(.isRevoked(provider: provider))
            } else if isPassword {
                language(.begun(language.day(method.created)))
            } else {
                language(method.lastUsed.map { .lastUsed(language.day($0)) } ?? .neverUsed)
            }
        let app = method.app.map { HTML.hidden("app", $0) } ?? ""
        let fields = HTML.hidden("provider", method.provider) + app
        let form: HTML =
            canGo && !isPasskey
            ? visit.form(to: "/methods/remove", fields + button(isPassword ? .removePassword : .unlink, language)) : ""
        return "<li><p>\(language(title))</p>\n<p>\(state)</p>\n\(form)</li>\n"
    }

    /// What a login method is called: a provider's title, or a word for one of ours.
    private func title(of method: String, _ visit: AccountVisit) -> String {
        ProviderName(method).map { visit.loaded.title(of: $0) } ?? method
    }

    private func row(of factor: Factor, _ language: PageLanguage) -> HTML {
        let kind: AccountText =
            switch factor.kind {
            case .totp: .authenticatorApp
            case .passkey: .passkey
            case .recoveryCode: .recoveryCodes(left: factor.codesLeft)
            case .sms: .codesBySMS
            case .email: .codesByMail
            }
        let names = [factor.label, factor.hint].compactMap { $0 }.map { " (\($0))" as HTML }.joined()
        let used = language(factor.lastUsed.map { .lastUsed(language.day($0)) } ?? .neverUsed)
        return "<li><p>\(language(kind))\(names)</p>\n<p>\(used)</p></li>\n"
    }

    private func row(of session: OwnSession, _ visit: AccountVisit) -> HTML {
        let language = visit.language
        let method: AccountText? =
            switch session.provider {
            case nil: nil
            case ProviderName.password.text: .openedByPassword
            case FactorKind.passkey.rawValue: .openedByPasskey
            case let provider?: .openedBy(provider: title(of: provider, visit))
            }
        // The name of the browser is the client's own word, so the address, which nobody can choose, stands apart from
        // it.
        let device = session.origin.userAgent.map { agent -> HTML in "<bdi>\(UserAgentName(agent).text)</bdi>" }
        let title = [session.isCurrent ? language(.thisSession) : nil, device].compactMap(\.self)
        let facts = [method.map { language($0) }, session.origin.source.map { "<bdi>\($0)</bdi>" as HTML }]
            .compactMap(\.self)
        let fields: HTML = """
            \(HTML.hidden("session", session.id))<button class="other small">\(language(.end))</button>

            """
        let form: HTML = session.isCurrent ? "" : visit.form(to: "/sessions/end", fields)
        return """
            <li class="split"><div><p>\(title.joined(by: " · "))</p>
            <p>\(facts.joined(by: " · "))</p>
            <p>\(language(.begun(language.moment(session.created)))). \
            \(language(.lastUsed(language.moment(session.lastSeen))))</p></div>
            \(form)</li>

            """
    }

    func button(_ text: AccountText, _ language: PageLanguage) -> HTML {
        "<p><button class=\"other\">\(language(text))</button></p>\n"
    }

    // MARK: Data

    /// All that the service keeps of the user, as far as the user may see it, as a file.
    private func data(_ visit: AccountVisit) async throws(Failure) -> Response {
        let (user, loaded) = (visit.user, visit.loaded)
        let methods = try await linking.loginMethods(ofUserOf: visit.token, in: loaded)
        let factors = try await ownFactors.factors(of: visit.token, in: loaded).factors
        let sessions = try await sessions.sessions(ofSession: visit.token, in: loaded)
        let roles = try await roles.ownRoles(token: visit.token, in: loaded)
        var writer = JSONWriter(capacity: 4096)
        writer.object { writer in
            writer.member("application", loaded.application.id.text)
            writer.member("user", .object(user.record))
            writer.member("roles", .array(roles.map(JSONValue.string)))
            writer.member("loginMethods", .array(methods.map { .object($0.record) }))
            writer.member("secondFactors", .array(factors.map { .object($0.record) }))
            writer.member("sessions", .array(sessions.map { .object($0.record) }))
        }
        let name = "attachment; filename=\"\(loaded.application.id)-account.json\""
        return .json(writer, headers: [.contentDisposition: name, .resourcePolicy: "same-origin"])
    }
}

extension User {
    /// The text of a property, if its owner may see it.
    func shown(_ name: PropertyName) -> String? {
        let isShown = properties.contains { $0.name == name && $0.visibleTo.includes(.owner) }
        return isShown ? text(of: name) : nil
    }

    /// What its owner sees, with moments in milliseconds since 1970 UTC.
    fileprivate var record: JSONObject {
        var record: JSONObject = [
            "objectId": .string(objectID.description), "created": .integer(created), "updated": .moment(updated),
            "lastLogin": .moment(lastLogin), "userStatus": .string(status.rawValue),
            "locale": locale.map(JSONValue.string) ?? .null, "emailVerified": .bool(emailVerified),
        ]
        var values = JSONObject()
        for (name, value, visibleTo) in properties where visibleTo.includes(.owner) {
            values.append(name.text, value?.json ?? .null)
        }
        for member in dynamic.members { values.append(member.key, member.value) }
        record.append("properties", .object(values))
        return record
    }
}

extension LoginMethod {
    fileprivate var record: JSONObject {
        [
            "provider": .string(provider), "appId": app.map(JSONValue.string) ?? .null, "subject": .string(subject),
            "created": .integer(created), "lastUsed": .moment(lastUsed), "revoked": .bool(isRevoked),
        ]
    }
}

extension Factor {
    fileprivate var record: JSONObject {
        [
            "kind": .string(kind.rawValue), "label": label.map(JSONValue.string) ?? .null,
            "hint": hint.map(JSONValue.string) ?? .null, "created": .integer(created), "lastUsed": .moment(lastUsed),
        ]
    }
}

extension OwnSession {
    fileprivate var record: JSONObject {
        let moments: JSONObject = [
            "created": .integer(created), "lastSeen": .integer(lastSeen), "expires": .integer(expires),
            "provider": provider.map(JSONValue.string) ?? .null,
        ]
        return JSONObject(moments.members + origin.members)
    }
}

extension JSONValue {
    fileprivate static func moment(_ milliseconds: Int64?) -> JSONValue { milliseconds.map(JSONValue.integer) ?? .null }
}
