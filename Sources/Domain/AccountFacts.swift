/// A user, with the facts beyond the properties that signed tokens say about a user.
package struct AccountFacts: Sendable {
    package var user: User
    /// The id of the user for Firebase's clients, if it is not the object id.
    package let uid: String?
    /// The custom claims of the user, as the JSON text that an administrator set.
    package let claims: String?
    /// The identities of the user, the oldest first.
    package private(set) var identities: [IdentityKey]
    /// The login name of the user's password; nil without a password.
    package let passwordLogin: String?

    package init(user: User, uid: String?, claims: String?, identities: [IdentityKey], passwordLogin: String?) {
        self.user = user
        self.uid = uid
        self.claims = claims
        self.identities = identities
        self.passwordLogin = passwordLogin
    }

    /// Adds an identity that the user has just got; an identity that is there already is not repeated.
    package mutating func include(_ identity: IdentityKey) {
        if !identities.contains(identity) { identities.append(identity) }
    }
}

/// A user, with everything that clients and administrators of Firebase see.
package struct AccountDetails: Sendable {
    package let facts: AccountFacts
    /// The time of the last change of the password in milliseconds since 1970; nil without a password.
    package let passwordChanged: Int64?
    /// Unix seconds: an administrator has ended the sessions that were opened before or in this second; nil for none.
    package let validSince: Int64?
    /// The second factors of the user whose codes come from an app or by SMS, the oldest first.
    package let codeFactors: [CodeFactor]

    package var user: User { facts.user }

    package init(facts: AccountFacts, passwordChanged: Int64?, validSince: Int64?, codeFactors: [CodeFactor]) {
        self.facts = facts
        self.passwordChanged = passwordChanged
        self.validSince = validSince
        self.codeFactors = codeFactors
    }
}

/// A second factor by codes, in the list of a user's factors.
package struct CodeFactor: Sendable {
    package let id: String
    package let kind: FactorKind
    /// Unix seconds at which the user enrolled the factor.
    package let created: Int64
    /// The user's name for the factor.
    package let label: String?

    package init(id: String, kind: FactorKind, created: Int64, label: String?) {
        (self.id, self.kind, self.created, self.label) = (id, kind, created, label)
    }
}

/// How an administrator names a user.
package enum AccountName: Sendable {
    /// The uid that was given to the user, or else the object id.
    case uid(String)
    /// The whole e-mail address, ignoring case.
    case email(String)
    /// The value of the property with the telephone number.
    case phone(String)
    /// The user has one of the identities.
    case identity(among: [IdentityKey])
}

/// The users whom an administrator reads.
package enum AccountSelection: Sendable {
    case ids([ObjectID])
    /// Users in the order of their object ids, starting after the given id.
    case page(after: ObjectID?, limit: Int)
    /// Users in an order.
    case ordered(AccountOrder, isDescending: Bool, offset: Int, limit: Int)
}

/// A fact about users by which an administrator may sort them.
package enum AccountOrder: Sendable {
    case id, name, created, lastLogin, email
}

/// An administrator's changes of an account beyond its record.
package struct AccountSettings: Sendable {
    /// The custom claims, as JSON text; nil leaves them as they are.
    package var claims: GivenProperties.Given<String>?
    /// Unix seconds: sessions that were opened before or in this second end.
    package var validSince: Int64?
    /// Whether the e-mail address counts as confirmed.
    package var emailVerified: Bool?

    package init() {}

    package var isEmpty: Bool { claims == nil && validSince == nil && emailVerified == nil }
}
