import Applications
import Description
package import Domain
package import Encodings
import Messaging
import Store

/// Roles of users, and mails to users, as operators assign and send them.
extension UserAdministration {
    /// Assigns a role to a user, or removes it; a repetition changes nothing.
    ///
    /// - Throws: `role_unknown`, `role_fixed` or `role_permanent`, `not_found`.
    package func setRole(
        _ role: String,
        isGiven: Bool,
        of id: String,
        in application: String,
        by actor: Actor
    ) async throws(Failure) {
        // Tags do not cover roles, so a precondition would protect nothing.
        _ = try await change(id, of: application, if: .any, by: actor) { _, owner in
            let role = try owner.role(role, thatIsGiven: isGiven)
            return isGiven ? .giveRole(role) : .takeRole(role)
        }
    }

    /// Sends a user the link for a password reset, or again the link that confirms the address.
    ///
    /// The effect is the same as that of the user's own request.
    ///
    /// - Parameters:
    ///   - document: `{"mail": "passwordReset" | "emailConfirmation"}`, by the names of templates.
    ///   - id: The user.
    ///   - application: The application of the user.
    ///   - actor: The operator.
    /// - Throws: `document_invalid`; `mail_off` where the deployment sends no links; `conflict` where the link would be
    ///   useless, or might reach someone else; `too_many_attempts` when the mailbox has received several.
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
