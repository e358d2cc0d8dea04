package import Domain
package import Factors

/// What a page of this service asks a user about the second factor, after the provider's dialog.
package struct FactorQuestion: Sendable {
    package enum Step: Sendable {
        /// The page asks the user for one of their second factors, such as a one-time code.
        case show(Factor, FactorChallenge, others: [Factor])
        /// The page asks the user to choose the kind of second factor to enrol.
        case enrol([FactorKind])
        /// The page asks the user to confirm the second factor that is being enrolled.
        case confirm(PendingEnrolment)
        /// The page shows new recovery codes, which the user must keep. The login of a popup is already complete at
        /// this step.
        case keep([Secret], done: LoginResult?)
    }

    /// The encrypted pending login.
    ///
    /// The browser sends it back with the user's answer.
    package let login: Secret
    package let step: Step
    /// The error that the user's last answer caused.
    package let problem: Failure?
    /// Where the result of the login goes: to a return URL of the client, or to the window with this origin that opened
    /// the popup.
    package let end: End
    /// The new lifetime, in seconds, of the cookie in the browser; nil if the login needs no cookie.
    package let browserSeconds: Int64?

    package enum End: Sendable {
        case redirect(to: String)
        case popup(origin: String)
    }
}

/// A user's answer on the page that asks for a second factor, already parsed.
package enum FactorQuestionAnswer: Sendable {
    case choose(ObjectID)
    /// The user asks for a one-time code of the factor with this id.
    case send(ObjectID)
    case show(ObjectID?, FactorResponse)
    /// The user wants to choose another kind of factor to enrol.
    case chooseKind
    case enrol(EnrolmentRequest)
    case confirm(draft: String, FactorResponse)
    /// The user has kept the recovery codes and continues.
    case goOn
}
