import Domain
import Encodings
import SignedTokens

/// Converts the claims of an ID token to the fields that a user has in the Graph API.
///
/// One mapping then works for ID tokens and for profiles from Graph (docs/protocols/facebook.md §4.3).
///
/// A claim whose value has an unexpected type is left out.
struct IDTokenProfile {
    /// The claims under the names of Graph's fields.
    let fields: JSONObject
    /// The permissions that the user has granted, concluded from the claims that the ID token has.
    let scopes: [String]

    init(claims: JSONObject, subject: Subject) {
        var fields: JSONObject = ["id": .string(subject.text)]
        // Every login with Facebook has this permission.
        var scopes = ["public_profile"]
        for claim in Self.claims {
            guard let value = claims[claim.name].flatMap(claim.value) else { continue }
            fields.append(claim.field, value)
            if let scope = claim.scope { scopes.append(scope) }
        }
        self.fields = fields
        self.scopes = scopes
    }

    private struct Claim: Sendable {
        let name: String
        let field: String
        var scope: String?
        var value: @Sendable (JSONValue) -> JSONValue? = { text($0) }
    }

    private static let claims = [
        Claim(name: "email", field: "email", scope: "email"),
        Claim(name: "given_name", field: "first_name"),
        Claim(name: "middle_name", field: "middle_name"),
        Claim(name: "family_name", field: "last_name"),
        Claim(name: "name", field: "name"),
        Claim(name: "picture", field: "picture") { url in
            text(url).map { .object(["data": .object(["url": $0])]) }
        },
        Claim(name: "user_friends", field: "friends", scope: "user_friends", value: friends),
        Claim(name: "user_birthday", field: "birthday", scope: "user_birthday"),
        Claim(name: "user_age_range", field: "age_range", scope: "user_age_range") {
            members($0, ["min", "max"], integer)
        },
        Claim(name: "user_gender", field: "gender", scope: "user_gender"),
        Claim(name: "user_hometown", field: "hometown", scope: "user_hometown") { members($0, ["id", "name"], text) },
        Claim(name: "user_location", field: "location", scope: "user_location") { members($0, ["id", "name"], text) },
        Claim(name: "user_link", field: "link", scope: "user_link"),
    ]

    /// The names of Graph's fields, by the names of the claims that are converted to them.
    static let fields = Dictionary(uniqueKeysWithValues: claims.map { ($0.name, $0.field) })

    private static func text(_ value: JSONValue) -> JSONValue? {
        guard let text = value.string, !text.utf8.isEmpty else { return nil }
        return value
    }

    private static func integer(_ value: JSONValue) -> JSONValue? {
        value.integer == nil ? nil : value
    }

    private static func members(
        _ value: JSONValue,
        _ names: [String],
        _ member: (JSONValue) -> JSONValue?
    ) -> JSONValue? {
        let members = names.compactMap { name in
            value.object?[name].flatMap(member).map { JSONObject.Member(name, $0) }
        }
        return members.isEmpty ? nil : .object(JSONObject(members))
    }

    /// Returns the friends with their ids only, since an ID token has no names of friends.
    private static func friends(_ value: JSONValue) -> JSONValue? {
        guard let ids = value.array?.map(text), !ids.contains(where: { $0 == nil }) else { return nil }
        return .object(["data": .array(ids.compactMap(\.self).map { .object(["id": $0]) })])
    }
}

extension VerifiedIdentity {
    /// Creates the verified user of an ID token.
    ///
    /// The initializer carries out check 14 of docs/security.md#id-tokens: `sub` must be a Facebook id.
    ///
    /// - Throws: `credential_invalid`.
    init(_ token: AcceptedIDToken, of provider: ProviderName) throws(Failure) {
        guard let subject = token.claims["sub"]?.string.flatMap({ Subject(decimal: $0) }) else {
            throw .untrusted("This ID token has no valid subject.", check: 14, "sub is no decimal text")
        }
        let profile = IDTokenProfile(claims: token.claims, subject: subject)
        self.init(
            identity: IdentityKey(provider: provider, app: token.app, subject: subject),
            profile: profile.fields,
            scopes: profile.scopes,
            scopesAreListed: false,
            dataAccessExpiresAt: nil,
            credentialExpiresAt: token.expiry
        )
    }
}
