package import Factors
package import Vocabulary

/// What a person is asked at the end of a dialog, before the login is done.
package struct FactorQuestion: Sendable {
    package enum Step: Sendable {
        /// To show one of their factors.
        case show(Factor, FactorChallenge, others: [Factor])
        /// To choose what to enrol.
        case enrol([FactorKind])
        /// To show that what they enrol is theirs.
        case confirm(BegunFactor)
        /// To keep the recovery codes; the login of a popup is done by then.
        case keep([Secret], done: SignedIn?)
    }

    /// What waits, sealed: it comes back with the answer.
    package let login: Secret
    package let step: Step
    /// What was wrong with the last answer.
    package let problem: Failure?
    /// Where the browser may be sent with the next answer: an address of the client's, or, of a popup, its origin.
    package let end: End
    /// Seconds for which the browser goes on to keep what it has; nil where nothing is asked of it.
    package let browserSeconds: Int64?

    package enum End: Sendable {
        case redirect(to: String)
        case popup(origin: String)
    }
}

/// What a person answers, parsed at the edge.
package enum FactorQuestionAnswer: Sendable {
    case choose(ObjectID)
    /// To be sent a code.
    case send(ObjectID)
    case show(ObjectID?, FactorResponse)
    /// To choose anew what to enrol.
    case chooseKind
    case enrol(FactorWish)
    case confirm(draft: String, FactorResponse)
    /// The recovery codes are kept.
    case goOn
}
