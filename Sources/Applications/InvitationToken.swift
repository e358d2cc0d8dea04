package import Description
package import Domain
package import Encodings
import Mapping
import Secrets
package import Store

/// The token in the link of an invitation, of which only the SHA-256 is kept.
///
/// The type accepts any text. The SQL statement of the login compares the token with the invitations, and refuses a
/// wrong one unless the user exists already.
package struct InvitationToken: Sendable {
    package let hash: [UInt8]

    package init(_ text: String) { hash = Digest.sha256(text) }

    /// Creates the token from the text of ``hashText``.
    package init?(hashText text: String?) {
        guard let hash = text.flatMap({ Base64URL.decode($0.utf8) }) else { return nil }
        self.hash = hash
    }

    /// The SHA-256 of the token, in base64url.
    package var hashText: String { Base64URL.encode(hash) }
}

extension Application {
    /// Returns what the SQL statement of a login or a registration needs to check the invitation of a new user.
    ///
    /// Nil if there is no token and the application accepts new users without an invitation.
    package func invitationClaim(_ token: InvitationToken?) -> InvitationClaim? {
        guard token != nil || settings.newUsers == .invited else { return nil }
        return InvitationClaim(tokenHash: token?.hash) { properties in
            // The operator may have changed a property since the invitation. A value that does not fit any more is left
            // out.
            var given = GivenProperties()
            for member in properties.members {
                guard let one = try? self.given(byOperator: .object(JSONObject([member]))) else { continue }
                given.values += one.values
            }
            return given
        }
    }

    /// The properties that operators may write: all except the e-mail address and the login name, which give access to
    /// the account.
    package var writableByOperators: [Property] {
        properties.filter { ![.email, settings.identityProperty].contains($0.name) }
    }

    /// Reads the values that an operator gives to a user's properties.
    ///
    /// - Throws: `DocumentProblems` with the problem of each property that cannot be written.
    package func given(byOperator patch: JSONValue) throws(DocumentProblems) -> GivenProperties {
        var (given, problems) = (GivenProperties(), DocumentProblems())
        guard let members = patch.object?.members else {
            throw DocumentProblems(JSONPointer(), "must be an object of properties and their values")
        }
        for member in members {
            let place = JSONPointer() / member.key
            guard let property = properties.first(where: { $0.name.text.hasSameBytes(as: member.key) }) else {
                problems.add(place, "is not a declared property of this application")
                continue
            }
            guard writableByOperators.contains(property) else {
                problems.add(
                    place,
                    "cannot be changed here, because it gives access to the account. The user or a server can change it"
                )
                continue
            }
            guard !given.values.contains(where: { $0.property.name == property.name }) else {
                problems.add(place, "is given twice")
                continue
            }
            do throws(Failure) {
                let value = try ClientValue.convert(
                    member.value,
                    to: property,
                    offsetlessTimes: settings.offsetlessTimes
                )
                given.values.append((property, value))
            } catch {
                problems.add(place, error.message)
            }
        }
        guard problems.isEmpty else { throw problems }
        return given
    }
}
