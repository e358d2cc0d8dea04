/// Who calls the administration by a live token.
package struct CallingOperator: Sendable {
    package let name: OperatorName
    package let role: OperatorRole
    package let id: ObjectID
    /// SHA-256 of the token.
    package let tokenHash: [UInt8]
    /// What the token is for.
    package let purpose: OperatorTokenPurpose
    /// Whether a program has the token.
    package let isMachine: Bool
    /// Whether the operator has a second factor.
    package let hasFactor: Bool
    /// Seconds since a second factor was shown with the token; nil when none was.
    package let factorShownAgo: Int64?

    package init(
        name: OperatorName,
        role: OperatorRole,
        id: ObjectID,
        tokenHash: [UInt8],
        purpose: OperatorTokenPurpose,
        isMachine: Bool,
        hasFactor: Bool,
        factorShownAgo: Int64?
    ) {
        self.name = name
        self.role = role
        self.id = id
        self.tokenHash = tokenHash
        self.purpose = purpose
        self.isMachine = isMachine
        self.hasFactor = hasFactor
        self.factorShownAgo = factorShownAgo
    }

    /// Whether the caller may do what asks for a second factor; programs, and people who have none, are not asked.
    package func satisfies(_ demand: OperatorFactorDemand) -> Bool {
        guard let seconds = demand.seconds, hasFactor, !isMachine else { return true }
        return factorShownAgo.map { $0 <= seconds } ?? false
    }
}

/// What a token of an operator is for, by its name in the database.
package enum OperatorTokenPurpose: String, Sendable, CaseIterable {
    /// For calls of the administration.
    case calls
    /// Opens one session of the console, and is gone then.
    case link
    /// What the console has opened for a browser.
    case session

    /// How many of them an operator may have, so that lists stay short.
    package var most: Int {
        switch self {
        case .calls: 100
        case .link, .session: 20
        }
    }
}

/// How lately operators who have a second factor must have shown it, by its name in the API's document.
package enum OperatorFactorDemand: String, Sendable, CaseIterable {
    /// For what it takes to show one.
    case none
    case within12Hours
    /// For what cannot be undone, and for what opens a way in.
    case within5Minutes

    /// Nil where nobody is asked.
    package var seconds: Int64? {
        switch self {
        case .none: nil
        case .within12Hours: 12 * 3600
        case .within5Minutes: 300
        }
    }
}

extension Failure {
    /// The refusal of a program's token for what is a person's, and for making a token of a person.
    package static let personRequired = Failure(
        .operatorForbidden,
        """
        This is for people, and the token is a program's. A person's token is made by federation operator token, or by a person \
        over POST /admin/v1/operators/{name}/tokens.
        """
    )
}
