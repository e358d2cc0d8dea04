import Domain
import Logins
import NIOConcurrencyHelpers

/// A recorder of the login outcomes that `UseCases` reports, in the words of the metrics.
final class HeardLogins: Sendable {
    private let kept = NIOLockedValueBox<[String]>([])

    /// One text for each login: application, method, and result.
    var all: [String] { kept.withLockedValue { $0 } }

    func hear(_ outcome: LoginOutcome) {
        let method =
            switch outcome.method {
            case .provider(let name): name.text
            case .unknownProvider: "unknown provider"
            case .password: "password"
            case .guest: "guest"
            case .server: "server"
            case .passkey: "passkey"
            }
        let result =
            switch outcome.result {
            case .created(let user): "created \(user)"
            case .updated(let user): "updated \(user)"
            case .refused(let failure): failure.reason.rawValue
            }
        kept.withLockedValue { $0.append("\(outcome.application) \(method) \(result)") }
    }
}
