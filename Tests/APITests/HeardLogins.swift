import Logins
import NIOConcurrencyHelpers
import Vocabulary

/// Keeps what is told of logins, in the words of whoever counts them.
final class HeardLogins: Sendable {
    private let kept = NIOLockedValueBox<[String]>([])

    /// One text a login: application, method, and result.
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
