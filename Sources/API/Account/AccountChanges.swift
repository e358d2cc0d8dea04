import Accounts
import Applications
import HTTP
import HTTPTypes
import Hummingbird
import Limiting
import Logins
import Vocabulary

/// What of an account takes a form of its own: another address, another password, and its deletion.
extension AccountPages {
    func mountChanges(on pages: Mount) {
        page("/address", on: pages) { (visit) throws(Failure) in try await addressPage(visit) }
        action("/address", on: pages, counting: .password) { (visit, form) throws(Failure) in
            try await changeAddress(by: form, visit)
        }
        page("/password", on: pages) { (visit) throws(Failure) in try await passwordPage(visit) }
        action("/password", on: pages, counting: .password) { (visit, form) throws(Failure) in
            try await changePassword(by: form, visit)
        }
        page("/delete", on: pages) { (visit) throws(Failure) in deletionPage(visit) }
        action("/delete", on: pages, counting: .password) { (visit, form) throws(Failure) in
            try await delete(by: form, visit)
        }
    }

    // MARK: Address

    private func addressPage(
        _ visit: AccountVisit,
        typed: String = "",
        problem: Failure? = nil
    ) async throws(Failure) -> Response {
        let language = visit.language
        let fields: HTML = """
            <p><label>\(language(.newAddress))
            <input type="email" name="email" autocomplete="email" value="\(typed)" required></label></p>
            \(try await presentPassword(visit))<p><button>\(language(.changeAddress))</button></p>

            """
        let now: HTML =
            visit.user.email.map { "<p>\(language(.addressNow($0))) \(language(.addressHears))</p>\n" } ?? ""
        let body: HTML = "\(now)\(visit.form(to: "/address", fields))\(visit.asked.button(to: "", .toAccount))"
        return visit.asked.response(.changeAddress, body, problem: problem, by: errors)
    }

    private func changeAddress(by form: FormFields, _ visit: AccountVisit) async throws(Failure) -> Response {
        let email = try form.value("email") ?? ""
        do throws(Failure) {
            try await requirePresentPassword(form, visit)
            // To take the address away is not what the form is for.
            guard !email.isEmpty else { throw Failure(.emailInvalid, "Type the address to have.") }
            let record = UserRecord(properties: ["email": .string(email)])
            return try await update(record, by: form, visit, done: "address")
        } catch {
            guard error.canBeMended else { throw error }
            return try await addressPage(visit, typed: email, problem: logged(error, visit))
        }
    }

    // MARK: Password

    private func passwordPage(_ visit: AccountVisit, problem: Failure? = nil) async throws(Failure) -> Response {
        let (language, rules) = (visit.language, visit.loaded.application.settings.passwords)
        let present = try await presentPassword(visit)
        let title: AccountText = present.text.isEmpty ? .setPassword : .changePassword
        let fields: HTML = """
            \(present)\(NewPasswordField.html(rules, application: visit.asked.name, in: language))
            <p><button>\(language(title))</button></p>

            """
        let body: HTML = """
            <p>\(language(.othersAreOut))</p>
            \(visit.form(to: "/password", fields))\(visit.asked.button(to: "", .toAccount))
            """
        return visit.asked.response(title, body, problem: problem, by: errors)
    }

    private func changePassword(by form: FormFields, _ visit: AccountVisit) async throws(Failure) -> Response {
        do throws(Failure) {
            try await requirePresentPassword(form, visit)
            let password = try form.value("password") ?? ""
            // It would change nothing and end no session, while the page says that it does both.
            guard try form.value("currentPassword")?.hasSameBytes(as: password) != true else {
                let text = "The new password is the same as the present one that you have typed. Choose another one."
                throw Failure(.passwordNotAllowed, text, details: ["rule": .string("unchanged")])
            }
            let record = UserRecord(password: .string(password))
            return try await update(record, by: form, visit, done: "password")
        } catch {
            guard error.canBeMended else { throw error }
            return try await passwordPage(visit, problem: logged(error, visit))
        }
    }

    private func update(
        _ record: UserRecord,
        by form: FormFields,
        _ visit: AccountVisit,
        done: String
    ) async throws(Failure) -> Response {
        var record = record
        record.currentPassword = try form.value("currentPassword").map(JSONValue.string)
        let written = try await accountUpdate.update(
            visit.user.objectID,
            with: record,
            token: visit.token,
            server: nil,
            from: visit.asked.source,
            in: visit.loaded,
            logger: visit.asked.context.logger
        )
        guard written.ignored.isEmpty else {
            throw Failure(.notOwnRecord, "This app does not let its users change that. Ask its operator.")
        }
        return .seeOther("\(visit.asked.path)?done=\(done)")
    }

    /// The field for the password that the account has; nothing where it has none.
    private func presentPassword(_ visit: AccountVisit) async throws(Failure) -> HTML {
        guard try await hasPassword(visit) else { return "" }
        return """
            <p><label>\(visit.language(.presentPassword))
            <input type="password" name="currentPassword" autocomplete="current-password" required></label></p>

            """
    }

    /// The page asks for it whatever the session has shown of late: somebody may have left the browser open.
    private func requirePresentPassword(_ form: FormFields, _ visit: AccountVisit) async throws(Failure) {
        let sent = try form.value("currentPassword") ?? ""
        guard sent.isEmpty, try await hasPassword(visit) else { return }
        throw Failure(.loginInvalid, "Type the password that the account has now.")
    }

    private func hasPassword(_ visit: AccountVisit) async throws(Failure) -> Bool {
        try await linking.loginMethods(ofUserOf: visit.token, in: visit.loaded)
            .contains { $0.provider == ProviderName.password.text }
    }

    // MARK: Deletion

    private func deletionPage(_ visit: AccountVisit, hint: AccountText? = nil) -> Response {
        let (asked, language) = (visit.asked, visit.language)
        let word = AccountText.deletionWord(in: language)
        let fields: HTML = """
            <p><label>\(language(.typeToDelete(word: "<strong>\(word)</strong>")))
            <input name="word" autocomplete="off" autocapitalize="characters" spellcheck="false" required></label></p>
            <p><button>\(language(.deleteForGood))</button></p>

            """
        let alert: HTML = hint.map { "<p role=\"alert\">\(language($0))</p>\n" } ?? ""
        let body: HTML = """
            \(alert)<p>\(language(.deletionTakes(application: asked.name)))</p>
            \(visit.form(to: "/delete", fields))\(asked.button(to: "", .toAccount))
            """
        return asked.response(.delete, body, by: errors)
    }

    private func delete(by form: FormFields, _ visit: AccountVisit) async throws(Failure) -> Response {
        let (asked, language) = (visit.asked, visit.language)
        let word = AccountText.deletionWord(in: language)
        guard try form.value("word")?.hasSameBytes(as: word) == true else {
            return deletionPage(visit, hint: .notTyped(word: "\(word)"))
        }
        let gone = try await deletions.delete(
            visit.user.objectID,
            token: visit.token,
            server: nil,
            in: visit.loaded,
            logger: asked.context.logger
        )
        let text = language(.goesBy(day: language.day(gone), application: asked.name))
        return leaving(asked.response(.deleted, "<p>\(text)</p>\n", by: errors), asked)
    }

    private func logged(_ failure: Failure, _ visit: AccountVisit) -> Failure {
        refusals.logged(failure, facts(visit.asked), in: visit.asked.context)
    }
}

extension Failure {
    /// Whether the person can do something about it in the same form.
    fileprivate var canBeMended: Bool {
        switch reason {
        case .loginInvalid, .passwordNotAllowed, .passwordMissing, .emailInvalid, .loginTakenByOther, .tooManyAttempts,
            .rateLimited, .valueNotConvertible, .notOwnRecord:
            true
        default: false
        }
    }
}
