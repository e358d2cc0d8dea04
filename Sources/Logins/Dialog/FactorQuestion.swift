package import Domain
package import Factors

/// A question about the second factor at the end of a dialog, before the login is complete.
package struct FactorQuestion: Sendable {
    package enum Step: Sendable {
        /// Show one of the factors.
        case show(Factor, FactorChallenge, others: [Factor])
        /// Choose the kind of factor to enrol.
        case enrol([FactorKind])
        /// Confirm the factor that is being enrolled.
        case confirm(BegunFactor)
        /// Keep the recovery codes; the login of a popup is complete by then.
        case keep([Secret], done: SignedIn?)
    }

    /// The encrypted pending login, which the answer sends back.
    package let login: Secret
    package let step: Step
    /// The error of the last answer.
    package let problem: Failure?
    /// Where the next answer may send the browser: an address of the client, or the origin of a popup's opener.
    package let end: End
    /// Seconds by which the browser's cookie is extended; nil if no cookie is required.
    package let browserSeconds: Int64?

    package enum End: Sendable {
        case redirect(to: String)
        case popup(origin: String)
    }
}

/// A user's answer, parsed at the edge.
package enum FactorQuestionAnswer: Sendable {
    case choose(ObjectID)
    /// Send a code.
    case send(ObjectID)
    case show(ObjectID?, FactorResponse)
    /// Choose the kind of factor to enrol again.
    case chooseKind
    case enrol(FactorWish)
    case confirm(draft: String, FactorResponse)
    /// Go on, since the recovery codes are kept.
    case goOn
}
