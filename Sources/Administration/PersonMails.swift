import Applications
import Mailing
import Notifications
import Store
package import Vocabulary

/// Roles of users, and mails to them, as operators give and send them.
extension UserAdministration {
    /// Gives a user a role, or takes it away; what is so already stays so.
    ///
    /// - Throws: `role_unknown`, `role_fixed` or `role_permanent`, `not_found`.
    package func setRole(
        _ role: String,
        isGiven: Bool,
        of id: String,
        in application: String,
        by actor: Actor
    ) async throws(Failure) {
        // Nobody's version has roles in it: to give one overwrites nothing.
        _ = try await change(id, of: application, if: .any, by: actor) { _, owner in
            let role = try owner.role(role, thatIsGiven: isGiven)
            return isGiven ? .giveRole(role) : .takeRole(role)
        }
    }

    /// Sends a user the link under which another password is chosen, or the one that confirms the address once more, as
    /// if the user had asked for it.
    ///
    /// - Parameters:
    ///   - document: `{"mail": "passwordReset" | "emailConfirmation"}`, by the names of templates.
    ///   - id: The user.
    ///   - application: Whose user it is.
    ///   - actor: Who has it sent.
    /// - Throws: `document_invalid`; `mail_off` where the deployment sends no links; `conflict` for whom the link would
    ///   be of no use, or might reach somebody else; `too_many_attempts` when the mailbox has got several.
    package func sendMail(
        _ document: JSONValue,
        to id: String,
        of application: String,
        by actor: Actor
    ) async throws(Failure) {
        let purpose = try Self.purpose(in: document)
        let loaded = LoadedApplication(try await changes.existing(application), masterKeys: masterKeys, kinds: kinds)
        let person = try await person(id, of: loaded.application)
        guard let login = person.password.flatMap({ loaded.application.login($0.login) }) else {
            throw Failure(
                .conflict,
                "This user has no password, so no link can set another one: the address is what a provider has told."
            )
        }
        if purpose == .confirmation {
            guard loaded.application.settings.registration.confirmEmail else {
                throw Failure(.confirmationOff, "This app asks nobody to confirm the e-mail address.")
            }
            guard !person.user.emailVerified else {
                throw Failure(.conflict, "The address of this user is confirmed already.")
            }
        }
        guard MailedLinks.goes(to: person.user, by: login, whoHasIdentities: !person.identities.isEmpty),
            let address = person.user.email.flatMap({ EmailAddress($0) })
        else {
            throw Failure(
                .conflict,
                "No link can go to this user: it is disabled, or the address is not known to be the user's own."
            )
        }
        try links.requireMail()
        try await links.countLink(purpose, to: address, from: nil, in: loaded)
        let template: Mail.Template = purpose == .confirmation ? .emailConfirmation : .passwordReset
        try await store.recordMail(template.rawValue, to: person.user.objectID, in: loaded.application.id, by: actor)
        try await links.mailLink(purpose, to: person.user, in: loaded)
    }

    private static func purpose(in document: JSONValue) throws(Failure) -> EmailTokenPurpose {
        let mails: [(Mail.Template, EmailTokenPurpose)] = [
            (.passwordReset, .passwordReset), (.emailConfirmation, .confirmation),
        ]
        let members = document.object?.members ?? []
        let known = mails.first { mail in
            members.contains {
                $0.key.hasSameBytes(as: "mail") && $0.value.string?.hasSameBytes(as: mail.0.rawValue) ?? false
            }
        }
        guard members.count == 1, let known else {
            let names = mails.map { "\"\($0.0.rawValue)\"" }.joined(separator: " or ")
            throw DocumentProblems(JSONPointer() / "mail", "must be \(names), and the only member").failure
        }
        return known.1
    }
}
