package import Description
package import Domain
package import Encodings
import Mapping
import Secrets
package import Store

/// The token of an invitation's link, kept as its SHA-256.
///
/// Any text is accepted: the database statement refuses a wrong token, unless the sender is a user already.
package struct InvitationToken: Sendable {
    package let hash: [UInt8]

    package init(_ text: String) { hash = Digest.sha256(text) }

    /// Reads a token that was passed on in the form of ``sealed``.
    package init?(sealed text: String?) {
        guard let hash = text.flatMap({ Base64URL.decode($0.utf8) }) else { return nil }
        self.hash = hash
    }

    package var sealed: String { Base64URL.encode(hash) }
}

extension Application {
    /// Returns the claim to an invitation, for a login that may create a user; nil where no invitation matters.
    package func invitationClaim(_ token: InvitationToken?) -> InvitationClaim? {
        guard token != nil || settings.newUsers == .invited else { return nil }
        return InvitationClaim(tokenHash: token?.hash) { properties in
            // The operator may have changed a property since: a value that does not fit any more is left out.
            var given = GivenProperties()
            for member in properties.members {
                guard let one = try? self.given(byOperator: .object(JSONObject([member]))) else { continue }
                given.values += one.values
            }
            return given
        }
    }

    /// The properties that operators may write, which exclude those that open the account.
    package var writableByOperators: [Property] {
        properties.filter { ![.email, settings.identityProperty].contains($0.name) }
    }

    /// Reads the values that an operator gives to a user's properties.
    ///
    /// - Throws: All problems, by the names of the properties.
    package func given(byOperator patch: JSONValue) throws(DocumentProblems) -> GivenProperties {
        var (given, problems) = (GivenProperties(), DocumentProblems())
        guard let members = patch.object?.members else {
            throw DocumentProblems(JSONPointer(), "must be an object of properties and their values")
        }
        for member in members {
            let place = JSONPointer() / member.key
            guard let property = properties.first(where: { $0.name.text.hasSameBytes(as: member.key) }) else {
                problems.add(place, "is no declared property of this application")
                continue
            }
            guard writableByOperators.contains(property) else {
                problems.add(
                    place,
                    "cannot be changed here: it opens the account. The user changes it, or a server does"
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
