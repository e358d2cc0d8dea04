package import Applications
package import Domain
import Encodings
package import Logging
import Mapping
import Providers
import Secrets

/// The outcome of a login, for the log and for metrics.
package struct LoginOutcome: Sendable {
    package enum Result: Sendable {
        case created(ObjectID)
        case updated(ObjectID)
        case refused(Failure)
    }

    /// The login method of a login or a failed attempt.
    package enum Method: Sendable, Hashable {
        case provider(ProviderName)
        /// A provider that does not exist. Metrics omit its name: clients could otherwise invent names and grow the
        /// metrics.
        case unknownProvider
        case password
        /// No login method: the request created a guest.
        case guest
        /// No login method of the user: a server opened the session, with its API key.
        case server
        case passkey
    }

    /// The kind of credential of a login, as a label of metrics.
    ///
    /// `code` also counts the request that finishes a pending login by a provider.
    package enum Credential: String, Sendable {
        case accessToken = "access_token"
        case idToken = "id_token"
        case code
        case loginCode = "login_code"
        case password
        case passkey
        /// No credential: the request created a guest.
        case guest
        case serverKey = "server_key"
        /// The request had no credential, or more than one.
        case unclear
    }

    package let application: ApplicationID
    package let method: Method
    package let credential: Credential
    package let result: Result
    /// The time from the parsing of the request to the end of the login.
    package let duration: Duration
    /// The id of the HTTP request, which the log lines of the request contain, too.
    package let request: String?
    package let source: String?
    package let userAgent: String?
    /// The id of the new session, as lists of sessions show it.
    package let session: String?
}

/// Reports the outcome of each login, to the log and to an observer.
///
/// No other code reports the outcome of a login.
package struct LoginLog: Sendable {
    let events: EventLog
    /// Receives the outcome of every login.
    ///
    /// The login waits for it, so it must return quickly.
    let observer: @Sendable (LoginOutcome) -> Void

    package init(events: EventLog, observer: @escaping @Sendable (LoginOutcome) -> Void) {
        self.events = events
        self.observer = observer
    }

    /// The text that identifies a login attempt.
    ///
    /// The log line of a refused login contains a pseudonym in place of this text.
    package enum Subject: Sendable {
        case credential(CredentialFields)
        case code(Secret?)
        case login(String)
    }

    /// Calls `body`, which logs a user in by a provider, and reports the outcome.
    ///
    /// - Throws: The error of `body`, marked as logged, so that no other code logs it again.
    package func telling(
        of subject: Subject,
        by provider: ProviderName,
        in loaded: LoadedApplication,
        _ logger: Logger,
        _ body: () async throws(Failure) -> LoginResult
    ) async throws(Failure) -> LoginResult {
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

    /// Calls `body`, which logs a user in without a provider's credential, and reports the outcome.
    ///
    /// The log line has the message `event`.
    ///
    /// - Throws: The error of `body`, marked as logged, so that no other code logs it again.
    package func telling<Result>(
        of event: String,
        by method: LoginOutcome.Method,
        in loaded: LoadedApplication,
        _ logger: Logger,
        with facts: Logger.Metadata = [:],
        signedIn: (Result) -> LoginResult,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let started = ContinuousClock.now
        do throws(Failure) {
            let result = try await events.logging(
                event,
                of: loaded,
                logger,
                with: facts,
                user: { signedIn($0).user.objectID },
                body
            )
            observe(.success(signedIn(result)), by: method, method.credential, in: loaded, since: started, logger)
            return result
        } catch {
            observe(.failure(error), by: method, method.credential, in: loaded, since: started, logger)
            throw error
        }
    }

    package func tell(
        _ result: Result<LoginResult, Failure>,
        of subject: Subject,
        by provider: ProviderName,
        in loaded: LoadedApplication,
        since started: ContinuousClock.Instant,
        _ logger: Logger
    ) {
        let application = loaded.application.id
        let duration = observe(
            result,
            by: method(of: subject, provider, in: loaded),
            subject.credential,
            in: loaded,
            since: started,
            logger
        )
        var metadata: Logger.Metadata = [
            "application": "\(application)", "provider": "\(provider)", "ms": "\(duration / .milliseconds(1))",
        ]
        switch result {
        case .success(let signedIn):
            metadata["outcome"] = signedIn.created ? "created" : "updated"
            metadata["user"] = "\(signedIn.user.objectID)"
            metadata.merge(signedIn.omissions.facts) { own, _ in own }
            logger.info("login", metadata: metadata)
        case .failure(let failure):
            metadata["outcome"] = "\(failure.reason.rawValue)"
            if let cause = failure.cause { metadata["cause"] = "\(cause)" }
            for name in loaded.configured(provider)?.loggedDetails ?? [] {
                if let value = failure.details[name] { metadata[name] = "\(value.text)" }
            }
            // During a flood, no operator needs the pseudonyms of refused credentials, and each pseudonym costs a hash.
            if failure.reason != .overloaded {
                metadata.merge(facts(of: subject, in: application)) { own, _ in own }
            }
            logger.log(level: failure.isOwnFault ? .error : .notice, "login", metadata: metadata)
        }
    }

    /// Passes the outcome of a login to the observer.
    ///
    /// - Returns: The duration of the login.
    @discardableResult
    private func observe(
        _ result: Result<LoginResult, Failure>,
        by method: LoginOutcome.Method,
        _ credential: LoginOutcome.Credential,
        in loaded: LoadedApplication,
        since started: ContinuousClock.Instant,
        _ logger: Logger
    ) -> Duration {
        let duration = started.duration(to: .now)
        let outcome: LoginOutcome.Result =
            switch result {
            case .success(let signedIn) where signedIn.created: .created(signedIn.user.objectID)
            case .success(let signedIn): .updated(signedIn.user.objectID)
            case .failure(let failure): .refused(failure)
            }
        observer(
            LoginOutcome(
                application: loaded.application.id,
                method: method,
                credential: credential,
                result: outcome,
                duration: duration,
                request: logger[metadataKey: "hb.request.id"]?.description,
                source: logger[metadataKey: "source"]?.description,
                userAgent: RequestSender.current.userAgent,
                session: (try? result.get())?.token.key.publicID
            )
        )
        return duration
    }

    private func method(
        of subject: Subject,
        _ provider: ProviderName,
        in loaded: LoadedApplication
    ) -> LoginOutcome.Method {
        switch subject {
        case .login: .password
        case .credential, .code: loaded.knows(provider) ? .provider(provider) : .unknownProvider
        }
    }

    private func facts(of subject: Subject, in application: ApplicationID) -> Logger.Metadata {
        let pseudonyms = events.pseudonyms
        return switch subject {
        case .credential(let fields):
            pseudonyms.pseudonym(of: fields, in: application).map { ["credential": "\($0)"] } ?? [:]
        case .code(let code):
            code.map { ["credential": "\(pseudonyms.pseudonym(of: $0.reveal(), in: application))"] } ?? [:]
        case .login(let login): ["login": "\(pseudonyms.pseudonym(ofLogin: login, in: application))"]
        }
    }
}

extension LoginLog.Subject {
    fileprivate var credential: LoginOutcome.Credential {
        switch self {
        case .login: .password
        case .code: .code
        case .credential(let fields): LoginOutcome.Credential(fields)
        }
    }
}

extension LoginOutcome.Method {
    /// The kind of credential that the metrics count for a login by this method.
    fileprivate var credential: LoginOutcome.Credential {
        switch self {
        case .provider, .unknownProvider: .code
        case .password: .password
        case .guest: .guest
        case .server: .serverKey
        case .passkey: .passkey
        }
    }
}

extension LoginOutcome.Credential {
    fileprivate init(_ fields: CredentialFields) {
        let kinds: [(text: String?, kind: LoginOutcome.Credential)] = [
            (fields.accessToken, .accessToken), (fields.idToken, .idToken), (fields.code, .code),
            (fields.loginCode, .loginCode),
        ]
        let shown = kinds.filter { !($0.text?.utf8.isEmpty ?? true) }
        self = shown.count == 1 ? shown[0].kind : .unclear
    }
}
