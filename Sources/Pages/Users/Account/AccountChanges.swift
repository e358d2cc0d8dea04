import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Limiting
import Logins

/// The parts of the account page that change the e-mail address or the password, or delete the account.
extension AccountPages {
    func mountChanges(on pages: PageRoutes.Mount) {
        page("/address", .showAccountAddress, on: pages) { (visit) throws(Failure) in try await addressPage(visit) }
        action("/address", .changeAccountAddress, on: pages, counting: .password) { (visit, form) throws(Failure) in
            try await changeAddress(by: form, visit)
        }
        page("/password", .showAccountPassword, on: pages) { (visit) throws(Failure) in try await passwordPage(visit) }
        action("/password", .changeAccountPassword, on: pages, counting: .password) { (visit, form) throws(Failure) in
            try await changePassword(by: form, visit)
        }
        page("/delete", .showAccountDeletion, on: pages) { (visit) throws(Failure) in deletionPage(visit) }
        action("/delete", .deleteAccountByForm, on: pages, counting: .password) { (visit, form) throws(Failure) in
            try await delete(by: form, visit)
        }
    }

    // MARK: Address

    private func addressPage(
        _ visit: AccountVisit,
        typed: String = "",
        problem: Failure? = nil
    ) async throws(Failure) -> Response {
        let words = visit.words
        let now = visit.user.email.map { address -> HTML in
            "<p>\(words(.addressNow, [.address: "\(address)"])) \(words(.addressHears))</p>\n"
        }
        let attributes: HTML = "autocomplete=\"email\" required"
        let fields: HTML = """
            \(HTML.field("email", words(.newAddress), type: "email", value: typed, attributes: attributes))\
            \(try await presentPassword(visit))\(HTML.submit(words(.changeAddress)))
            """
        let body: HTML = "\(now)\(visit.form(to: "/address", fields))\(visit.asked.back())"
        return visit.asked.response(.changeAddress, body, problem: problem)
    }

    private func changeAddress(by form: FormFields, _ visit: AccountVisit) async throws(Failure) -> Response {
        let email = try form.value("email") ?? ""
        do throws(Failure) {
            try await requirePresentPassword(form, visit)
            // An empty field would remove the address, and this form must not do that.
            guard !email.isEmpty else { throw Failure(.emailInvalid, "Enter an e-mail address.") }
            let record = UserRecord(properties: ["email": .string(email)])
            return try await update(record, by: form, visit, done: "address")
        } catch {
            guard error.canBeMended else { throw error }
            return try await addressPage(visit, typed: email, problem: logged(error, visit.asked))
        }
    }

    // MARK: Password

    private func passwordPage(_ visit: AccountVisit, problem: Failure? = nil) async throws(Failure) -> Response {
        let words = visit.words
        let present = try await presentPassword(visit)
        let title: PageText = present == nil ? .setFirstPassword : .changePassword
        let fields: HTML = """
            \(present)\(words.newPasswordField(visit.loaded.application.settings.passwords))
            \(HTML.submit(words(title)))
            """
        let body: HTML = """
            <p>\(words(.othersAreOut))</p>
            \(visit.form(to: "/password", fields))\(visit.asked.back())
            """
        return visit.asked.response(title, body, problem: problem)
    }

    private func changePassword(by form: FormFields, _ visit: AccountVisit) async throws(Failure) -> Response {
        do throws(Failure) {
            try await requirePresentPassword(form, visit)
            let password = try form.value("password") ?? ""
            // The same password would change nothing and end no session. But the page would say that it did both.
            guard try form.value("currentPassword")?.hasSameBytes(as: password) != true else {
                let text = "The new password is the same as the current one. Choose another password."
                throw Failure(.passwordNotAllowed, text, details: ["rule": .string("unchanged")])
            }
            let record = UserRecord(password: .string(password))
            return try await update(record, by: form, visit, done: "password")
        } catch {
            guard error.canBeMended else { throw error }
            return try await passwordPage(visit, problem: logged(error, visit.asked))
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
            token: visit.session,
            server: nil,
            from: visit.asked.source,
            in: visit.loaded,
            logger: visit.asked.context.logger
        )
        guard written.ignored.isEmpty else {
            throw Failure(.notOwnRecord, "This app does not let you change this. Contact its operator.")
        }
        return .seeOther("\(visit.asked.path)?done=\(done)")
    }

    /// Returns the field for the current password; nil if the account has no password.
    private func presentPassword(_ visit: AccountVisit) async throws(Failure) -> HTML? {
        try await hasPassword(visit) ? visit.words.passwordField("currentPassword", .presentPassword) : nil
    }

    /// Refuses a form without the current password if the account has a password.
    ///
    /// This method does not check whether the password is correct; the change itself does. The page asks for the
    /// password even shortly after a reauthentication, since the user may have left the browser open.
    private func requirePresentPassword(_ form: FormFields, _ visit: AccountVisit) async throws(Failure) {
        let sent = try form.value("currentPassword") ?? ""
        guard sent.isEmpty, try await hasPassword(visit) else { return }
        throw Failure(.loginInvalid, "Enter your current password.")
    }

    private func hasPassword(_ visit: AccountVisit) async throws(Failure) -> Bool {
        try await linking.loginMethods(ofUserOf: visit.session, in: visit.loaded)
            .contains { $0.provider == ProviderName.password.text }
    }

    // MARK: Deletion

    private func deletionPage(_ visit: AccountVisit, hint: PageText? = nil) -> Response {
        let (asked, words) = (visit.asked, visit.words)
        let word = words(.deletionWord)
        let fields: HTML = """
            \(HTML.field("word", words(.typeToDelete, [.word: "<strong>\(word)</strong>"]), attributes: """
            autocomplete="off" autocapitalize="characters" spellcheck="false" required
            """))\(HTML.submit(words(.deleteForGood)))
            """
        let body: HTML = """
            \(hint.map { HTML.alert(words($0, [.word: word])) })<p>\(words(.deletionTakes))</p>
            \(visit.form(to: "/delete", fields))\(asked.back())
            """
        return asked.response(.deleteAccount, body)
    }

    private func delete(by form: FormFields, _ visit: AccountVisit) async throws(Failure) -> Response {
        let (asked, words) = (visit.asked, visit.words)
        guard try form.value("word")?.hasSameBytes(as: words(.deletionWord).text) == true else {
            return deletionPage(visit, hint: .notTyped)
        }
        let gone = try await deletions.delete(
            visit.user.objectID,
            token: visit.session,
            server: nil,
            in: visit.loaded,
            logger: asked.context.logger
        )
        return leaving(asked.response(.deleted, "<p>\(words(.goesBy, [.moment: words.day(gone)]))</p>\n"), asked)
    }
}

extension Failure {
    /// Whether the user can correct the failure by changing the form.
    fileprivate var canBeMended: Bool {
        switch reason {
        case .loginInvalid, .passwordNotAllowed, .passwordMissing, .emailInvalid, .loginTakenByOther, .tooManyAttempts,
            .rateLimited, .valueNotConvertible, .notOwnRecord:
            true
        default: false
        }
    }
}

extension Operation {
    fileprivate static let showAccountAddress = page(
        "showAccountAddress",
        "The form for another address."
    )

    fileprivate static let changeAccountAddress = action(
        "changeAccountAddress",
        "Changes the address.",
        form: .fields(["email": .string, "currentPassword": .string])
    )

    fileprivate static let showAccountPassword = page(
        "showAccountPassword",
        "The form for another password."
    )

    fileprivate static let changeAccountPassword = action(
        "changeAccountPassword",
        "Changes the password, or sets the first one.",
        form: .fields(["password": .string, "currentPassword": .string])
    )

    fileprivate static let showAccountDeletion = page(
        "showAccountDeletion",
        "The form that deletes the account."
    )

    fileprivate static let deleteAccountByForm = action(
        "deleteAccountByForm",
        "Deletes the account.",
        form: .fields(["word": .string.described("What the page asks for to be typed.")])
    )
}
