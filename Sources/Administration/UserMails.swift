import Applications
import Description
package import Domain
package import Encodings
import Messaging
import Store

/// Operations of operators on a user: giving and removing roles, and sending mails.
extension UserAdministration {
    /// Gives a role to a user, or removes it.
    ///
    /// If the user already has the role, or does not have the one to remove, nothing changes.
    ///
    /// - Throws: `role_unknown`, `role_fixed` or `role_permanent`, `not_found`.
    package func setRole(
        _ role: String,
        isGiven: Bool,
        of id: String,
        in application: String,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        // Roles have no influence on the tag, so a precondition would protect nothing.
        _ = try await change(id, of: application, if: .any, by: actor) { _, owner in
            let role = try owner.role(role, thatIsGiven: isGiven)
            return isGiven ? .giveRole(role) : .takeRole(role)
        }
    }

    /// Mails a user a link for a password reset, or once more the link that confirms the user's e-mail address.
    ///
    /// The effect is the same as if the user had asked for the mail.
    ///
    /// - Parameters:
    ///   - document: `{"mail": "passwordReset" | "emailConfirmation"}`. The values are names of templates.
    ///   - id: The user.
    ///   - application: The application of the user.
    ///   - actor: The operator.
    /// - Throws: `document_invalid`; `mail_off` if the deployment sends no links; `conflict` if the link would be
    ///   useless, or might reach another user; `too_many_attempts` if the mailbox has received several.
    package func sendMail(
        _ document: JSONValue,
        to id: String,
        of application: String,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        let purpose = try Self.purpose(in: document)
        let loaded = LoadedApplication(try await changes.existing(application), masterKeys: masterKeys, kinds: kinds)
        let stored = try await storedUser(id, of: loaded.application)
        guard let login = stored.password.flatMap({ loaded.application.login($0.login) }) else {
            throw Failure(
                .conflict,
                "This user has no password to reset."
            )
        }
        if purpose == .confirmation {
            guard loaded.application.settings.registration.confirmEmail else {
                throw Failure(.confirmationOff, "This app does not confirm e-mail addresses.")
            }
            guard !stored.user.emailVerified else {
                throw Failure(.conflict, "The address of this user is already confirmed.")
            }
        }
        guard MailedLinks.goes(to: stored.user, by: login, whoHasIdentities: !stored.identities.isEmpty),
            let address = stored.user.email.flatMap({ EmailAddress($0) })
        else {
            throw Failure(
                .conflict,
                """
                No link can be mailed to this user: the user is disabled, or the address is not confirmed as the \
                user's own.
                """
            )
        }
        try links.requireMail()
        try await links.countLink(purpose, to: address, from: nil, in: loaded)
        let template: Mail.Template = purpose == .confirmation ? .emailConfirmation : .passwordReset
        try await store.recordMail(template.rawValue, to: stored.user.objectID, in: loaded.application.id, by: actor)
        try await links.mailLink(purpose, to: stored.user, in: loaded)
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
