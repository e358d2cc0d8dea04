import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Limiting
import Logins
import Providers

/// The first view of the account page: what the service stores of the account, and the changes that need only a button.
extension AccountPages {
    func mountAccount(on pages: PageRoutes.Mount) {
        action("/methods/remove", .removeAccountMethod, on: pages, counting: .login) { (visit, form) throws(Failure) in
            try await linking.unlink(
                LoginMethodSelection(provider: try form.value("provider") ?? "", app: try form.value("app")),
                fromUserOf: visit.session,
                in: visit.loaded,
                logger: visit.asked.context.logger
            )
            return .seeOther("\(visit.asked.path)?done=removed")
        }
        action("/sessions/end", .endAccountSession, on: pages) { (visit, form) throws(Failure) in
            try await sessions.endSession(try form.value("session") ?? "", ofSession: visit.session, in: visit.loaded)
            return .seeOther("\(visit.asked.path)?done=session")
        }
        action("/sessions/end-others", .endOtherAccountSessions, on: pages) { (visit, _) throws(Failure) in
            _ = try await sessions.endOtherSessions(ofSession: visit.session, in: visit.loaded)
            return .seeOther("\(visit.asked.path)?done=others")
        }
        // The target of a reauthentication after which no form is sent again, such as the one before a link by a
        // dialog.
        action("/proof", .proveAccount, on: pages, counting: .password) { (visit, _) throws(Failure) in
            .seeOther("\(visit.asked.path)?done=proof")
        }
        page("/data", .downloadAccount, on: pages) { (visit) throws(Failure) in try await data(visit) }
    }

    func home(_ visit: AccountVisit) async throws(Failure) -> Response {
        let (asked, words, loaded) = (visit.asked, visit.words, visit.loaded)
        let methods = try await linking.loginMethods(ofUserOf: visit.session, in: loaded)
        let factors = try await ownFactors.factors(of: visit.session, in: loaded).factors
        let sessions = try await sessions.sessions(ofSession: visit.session, in: loaded)
        let hasPassword = methods.contains { $0.provider == ProviderName.password.text }
        let unlinked = dialogs(of: loaded).filter { provider in
            !methods.contains { $0.provider == provider.name.text }
        }
        let isGuest = visit.user.status == .guest
        let password = asked.button(to: "/password", words(hasPassword ? .changePassword : .setFirstPassword))
        let mayDelete = try await collection.has(.deleteOwn, visit.user, in: loaded)
        let body: HTML = """
            \(done(asked))\(facts(of: visit))\
            \(isGuest ? "<p>\(words(.isGuest))</p>\n" : asked.button(to: "/address", words(.changeAddress)))
            <h2>\(words(.loginMethods))</h2>
            \(rows(methods.map { row(of: $0, among: methods, visit) }, orSay: .noMethods, words))
            \(asked.buttons(to: unlinked, .linkWith))\(password, if: !isGuest)
            <h2>\(words(.secondFactors))</h2>
            \(rows(factors.map { row(of: $0, words) }, orSay: .noFactors, words))
            <h2>\(words(.sessions))</h2>
            \(rows(sessions.map { row(of: $0, visit) }, orSay: .thisSession, words))
            \(visit.form(to: "/sessions/end-others", button(.endOthers, words)), if: sessions.count > 1)
            <h2>\(words(.data))</h2>
            \(asked.button(to: "/data", words(.downloadData)))\
            \(asked.button(to: "/delete", words(.deleteAccount)), if: mayDelete)
            \(visit.form(to: "/sign-out", button(.signOut, words)))
            """
        return asked.response(.yourAccount, body)
    }

    /// Returns a message about the change that the user has just made; nil if there was none.
    ///
    /// The page's URL only names one message of a fixed list. So no link can make the page show another text.
    private func done(_ asked: AccountRequest) -> HTML? {
        let texts: [String: PageText] = [
            "address": .addressChanged, "linked": .accountLinked, "others": .othersAreGone,
            "password": .passwordChanged, "proof": .proofTaken, "removed": .methodRemoved, "session": .sessionIsOut,
        ]
        return asked.query["done"].flatMap { texts[$0] }.map { HTML.notice(asked.words($0)) }
    }

    private func facts(of visit: AccountVisit) -> HTML {
        let (user, words) = (visit.user, visit.words)
        let address = user.shown(.email).map { email -> HTML in
            "\(email) (\(words(user.emailVerified ? .isConfirmed : .isUnconfirmed)))"
        }
        let name = user.shown(.name).map { (name: words(.name), value: "\($0)" as HTML) }
        return .facts(
            [name].compactMap(\.self) + [
                (words(.emailAddress), address ?? words(.noAddress)), (words(.since), words.day(user.created)),
            ]
        )
    }

    // MARK: Lists

    private func rows(_ rows: [HTML], orSay none: PageText, _ words: PageWords) -> HTML {
        rows.isEmpty ? "<p>\(words(none))</p>\n" : "<ul class=\"rows\">\n\(rows)</ul>\n"
    }

    private func row(of method: LoginMethod, among methods: [LoginMethod], _ visit: AccountVisit) -> HTML {
        let words = visit.words
        let isOnlyOne = methods.count { $0.provider == method.provider } == 1
        let isPassword = method.provider == ProviderName.password.text
        let isPasskey = method.provider == FactorKind.passkey.rawValue
        let provider: HTML = "\(title(of: method.provider, visit))"
        let (title, state): (HTML, HTML)
        if isPassword {
            (title, state) = (words(.passwordMethod, [.subject: "\(method.subject)"]), begun(method.created, words))
        } else {
            state = lastUsed(method.lastUsed, words)
            title =
                isPasskey
                ? words(.passkey)
                : words(
                    isOnlyOne ? .identityMethod : .identityWithSubject,
                    [.provider: provider, .subject: "\(method.subject)"]
                )
        }
        let revoked = method.isRevoked ? words(.isRevoked, [.provider: provider]) : nil
        let form = visit.form(
            to: "/methods/remove",
            """
            \(HTML.hidden("provider", method.provider))\(method.app.map { HTML.hidden("app", $0) })\
            \(button(isPassword ? .removePassword : .unlink, words))
            """
        )
        return """
            <li><p>\(title)</p>
            <p>\(revoked ?? state)</p>
            \(form, if: methods.count > 1 && !isPasskey)</li>

            """
    }

    private func begun(_ moment: Int64, _ words: PageWords) -> HTML { words(.begun, [.moment: words.day(moment)]) }

    private func lastUsed(_ moment: Int64?, _ words: PageWords) -> HTML {
        moment.map { words(.lastUsed, [.moment: words.day($0)]) } ?? words(.neverUsed)
    }

    /// Returns the displayed name of a login method: the title of the provider, or the name of the method itself.
    private func title(of method: String, _ visit: AccountVisit) -> String {
        ProviderName(method).map { visit.loaded.title(of: $0) } ?? method
    }

    private func row(of factor: Factor, _ words: PageWords) -> HTML {
        let kind =
            switch factor.kind {
            case .totp: words(.authenticatorApp)
            case .passkey: words(.passkey)
            case .recoveryCode:
                factor.codesLeft.map { words(.recoveryCodesLeft, [.count: "\($0)"]) } ?? words(.recoveryCodes)
            case .sms: words(.codesBySMS)
            case .email: words(.codesByMail)
            }
        let names = [factor.label, factor.hint].compactMap { $0 }.map { " (\($0))" as HTML }
        return "<li><p>\(kind)\(names)</p>\n<p>\(lastUsed(factor.lastUsed, words))</p></li>\n"
    }

    private func row(of session: OwnSession, _ visit: AccountVisit) -> HTML {
        let words = visit.words
        let method: HTML? =
            switch session.provider {
            case nil: nil
            case ProviderName.password.text: words(.openedByPassword)
            case FactorKind.passkey.rawValue: words(.openedByPasskey)
            case let provider?: words(.openedBy, [.provider: "\(title(of: provider, visit))"])
            }
        // Clients choose their `User-Agent`, but cannot choose their address. So the page shows the address separately.
        let device = session.origin.userAgent.map { agent -> HTML in "<bdi>\(UserAgentName(agent).text)</bdi>" }
        let title = [session.isCurrent ? words(.thisSession) : nil, device].compactMap(\.self)
        let facts = [method, session.origin.source.map { "<bdi>\($0)</bdi>" }].compactMap(\.self)
        let form = visit.form(
            to: "/sessions/end",
            "\(HTML.hidden("session", session.id))<button class=\"other small\">\(words(.signOut))</button>\n"
        )
        return """
            <li class="split"><div><p>\(title.joined(by: " · "))</p>
            <p>\(facts.joined(by: " · "))</p>
            <p>\(words(.begun, [.moment: words.moment(session.created)])). \
            \(words(.lastUsed, [.moment: words.moment(session.lastSeen)]))</p></div>
            \(form, if: !session.isCurrent)</li>

            """
    }

    private func button(_ text: PageText, _ words: PageWords) -> HTML {
        HTML.submit(words(text), "class=\"other\"")
    }

    // MARK: Data

    /// Returns a file with all data that the service stores about the user and that the user may see.
    private func data(_ visit: AccountVisit) async throws(Failure) -> Response {
        let (user, loaded) = (visit.user, visit.loaded)
        let methods = try await linking.loginMethods(ofUserOf: visit.session, in: loaded)
        let factors = try await ownFactors.factors(of: visit.session, in: loaded).factors
        let sessions = try await sessions.sessions(ofSession: visit.session, in: loaded)
        let roles = try await roles.ownRoles(token: visit.session, in: loaded)
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
    /// Returns the text of a property; nil if the user may not see the property.
    func shown(_ name: PropertyName) -> String? {
        let isShown = properties.contains { $0.name == name && $0.visibleTo.includes(.owner) }
        return isShown ? text(of: name) : nil
    }

    /// The user as a JSON object, with everything that the user may see.
    ///
    /// Times are in milliseconds since 1970 UTC.
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

extension Operation {
    fileprivate static let removeAccountMethod = action(
        "removeAccountMethod",
        "Takes a login method from the account.",
        form: .fields(["provider": .string.described("A provider's name, or `password`."), "app": .string])
    )

    fileprivate static let endAccountSession = action(
        "endAccountSession",
        "Ends one of the sessions.",
        form: .fields(["session": .string])
    )

    fileprivate static let endOtherAccountSessions = action(
        "endOtherAccountSessions",
        "Ends all other sessions."
    )

    fileprivate static let proveAccount = action(
        "proveAccount",
        "Takes what shows anew whose session it is."
    )

    fileprivate static let downloadAccount = page(
        "downloadAccount",
        "The own data, as a file.",
        Reply(
            200,
            as: "AccountData",
            "The user, roles, login methods, second factors and sessions, as a file to keep.",
            headers: [
                .requestID,
                ReplyHeader("Content-Disposition", as: "ContentDisposition", .string, "The name of the file."),
            ],
            [Content(.anyObject)]
        )
    )
}
