import Applications
package import Domain
import Messaging
import OneTimeCodes
package import Secrets
package import Store

/// Makes the displayable form of second factors, with phone numbers and addresses masked.
package struct FactorHints: Sendable {
    let masterKeys: MasterKeys

    package init(masterKeys: MasterKeys) { self.masterKeys = masterKeys }

    /// Returns a factor as its user sees it.
    package func shown(_ factor: StoredFactor, of application: ApplicationID?) -> Factor {
        Factor(
            id: factor.id,
            kind: factor.kind,
            label: factor.label,
            hint: target(of: factor, of: application).flatMap(Self.masked),
            codesLeft: factor.kind == .recoveryCode ? factor.codes.count : nil,
            created: factor.created,
            lastUsed: factor.lastUsed
        )
    }

    /// Returns a user's factor as operators see it.
    package func shown(
        _ factor: StoredUser.Factor,
        of user: ObjectID,
        in application: ApplicationID
    ) -> Factor {
        let target = factor.kind.isDelivered ? open(factor.secret, of: factor.id, of: user, in: application) : nil
        return Factor(
            id: factor.id,
            kind: factor.kind,
            label: factor.label,
            hint: target.flatMap { Self.masked($0.reveal()) },
            codesLeft: factor.kind == .recoveryCode ? factor.codesLeft : nil,
            created: factor.created,
            lastUsed: factor.lastUsed
        )
    }

    /// Returns the phone number or e-mail address to which the codes of a factor are sent.
    ///
    /// Nil if the kind of factor has no sent codes, or if the target cannot be decrypted.
    package func target(of factor: StoredFactor, of application: ApplicationID?) -> String? {
        guard factor.kind.isDelivered else { return nil }
        return secret(of: factor, of: application)?.reveal()
    }

    func secret(of factor: StoredFactor, of application: ApplicationID?) -> Secret? {
        open(factor.secret, of: factor.id, of: factor.user, in: application)
    }

    private func open(
        _ secret: EncryptedSecret?,
        of id: ObjectID,
        of user: ObjectID,
        in application: ApplicationID?
    ) -> Secret? {
        secret.flatMap { masterKeys.open($0, at: .factor(application: application, user: user, id: id)) }
    }

    /// Returns a phone number or an e-mail address with most of its characters masked; nil for any other text.
    ///
    /// Its owner recognizes the masked form, but no other reader learns the number or address.
    package static func masked(_ target: String) -> String? {
        if let number = try? PhoneNumber(target) { return number.masked }
        guard let email = EmailAddress(target) else { return nil }
        let sides = email.text.split(separator: "@", maxSplits: 1)
        guard sides.count == 2, let first = sides[0].first, let host = sides[1].first else { return nil }
        let ending = sides[1].split(separator: ".").last.map { ".\($0)" } ?? ""
        return "\(first)•••@\(host)•••\(ending)"
    }
}
