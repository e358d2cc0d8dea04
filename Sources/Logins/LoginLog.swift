package import Applications
package import Logging
import Mapping
import Providers
package import Secrets
package import Vocabulary

/// How a login went: what the log says of it in one line, and what can be counted.
package struct LoginOutcome: Sendable {
    package enum Result: Sendable {
        case created(ObjectID)
        case updated(ObjectID)
        case refused(Failure)
    }

    package let application: ApplicationID
    /// The provider's name, or `password`; nil for a name that the caller made up, since what is counted by it would
    /// grow by strangers.
    package let provider: ProviderName?
    package let result: Result
    /// From the parsed request to the end.
    package let duration: Duration
}

/// The one place that tells how logins went: to the log, and to whoever counts them.
package struct LoginLog: Sendable {
    let pseudonyms: Pseudonyms
    /// Hears of every login, on the login's own way: it must not take long.
    let observer: @Sendable (LoginOutcome) -> Void

    package init(pseudonyms: Pseudonyms, observer: @escaping @Sendable (LoginOutcome) -> Void = { _ in }) {
        self.pseudonyms = pseudonyms
        self.observer = observer
    }

    /// By what somebody tried to log in; the line of a login that was refused has its pseudonym.
    package enum Subject: Sendable {
        case credential(CredentialFields)
        case code(Secret?)
        case login(String)
    }

    /// Does a login and tells how it went.
    ///
    /// - Throws: What the body throws, as logged.
    package func telling(
        of subject: Subject,
        by provider: ProviderName,
        in loaded: LoadedApplication,
        _ logger: Logger,
        _ body: () async throws(Failure) -> SignedIn
    ) async throws(Failure) -> SignedIn {
        let started = ContinuousClock.now
        do throws(Failure) {
            let signedIn = try await body()
            tell(.success(signedIn), of: subject, by: provider, in: loaded, since: started, logger)
            return signedIn
        } catch {
            tell(.failure(error), of: subject, by: provider, in: loaded, since: started, logger)
            throw error.logged
        }
    }

    /// Tells how a login went.
    package func tell(
        _ result: Result<SignedIn, Failure>,
        of subject: Subject,
        by provider: ProviderName,
        in loaded: LoadedApplication,
        since started: ContinuousClock.Instant,
        _ logger: Logger
    ) {
        let application = loaded.application.id
        let duration = started.duration(to: .now)
        func outcome(_ result: LoginOutcome.Result) -> LoginOutcome {
            LoginOutcome(
                application: application,
                provider: provider == .password || loaded.knows(provider) ? provider : nil,
                result: result,
                duration: duration
            )
        }
        var metadata: Logger.Metadata = [
            "application": "\(application)", "provider": "\(provider)", "ms": "\(duration / .milliseconds(1))",
        ]
        switch result {
        case .success(let signedIn):
            let user = signedIn.user.objectID
            observer(outcome(signedIn.created ? .created(user) : .updated(user)))
            metadata["outcome"] = signedIn.created ? "created" : "updated"
            metadata["user"] = "\(user)"
            metadata.merge(signedIn.omissions.facts) { own, _ in own }
            logger.info("login", metadata: metadata)
        case .failure(let failure):
            observer(outcome(.refused(failure)))
            metadata["outcome"] = "\(failure.reason.rawValue)"
            if let cause = failure.cause { metadata["cause"] = "\(cause)" }
            for member in failure.details.members where member.key.hasPrefix("graph") {
                metadata[member.key] = "\(member.value.text)"
            }
            metadata.merge(facts(of: subject, in: application)) { own, _ in own }
            logger.log(level: failure.isOwnFault ? .error : .notice, "login", metadata: metadata)
        }
    }

    private func facts(of subject: Subject, in application: ApplicationID) -> Logger.Metadata {
        switch subject {
        case .credential(let fields):
            pseudonyms.pseudonym(of: fields, in: application).map { ["credential": "\($0)"] } ?? [:]
        case .code(let code):
            code.map { ["credential": "\(pseudonyms.pseudonym(of: $0.reveal(), in: application))"] } ?? [:]
        case .login(let login): ["login": "\(pseudonyms.pseudonym(ofLogin: login, in: application))"]
        }
    }
}
