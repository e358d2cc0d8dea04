// FormerSystems — the question to the system from which an application moves here: is this a user's password?
//
// This module owns the request and the meaning of the response for each kind of password source
// (`PasswordSource.Kind`), the circuit breaker and the limits of these requests, and the metric of their outcomes.
//
// It must not know the database, how this service keeps passwords, or how guesses are counted. A caller asks only for
// a guess that it has counted, and only about a user who has no password here.

package import Curl
package import Domain
import Encodings
import Limiting
package import Logging
import Metrics
import Providers

/// A password that a client sent for a user who has no password here, as a question to the former system.
package struct FormerPassword: Sendable {
    package let user: ObjectID
    /// The user's login name, as the user's property has it: the former system knows it in this form.
    package let login: String
    package let password: Secret

    package init(user: ObjectID, login: String, password: Secret) {
        (self.user, self.login, self.password) = (user, login, password)
    }
}

/// Asks former systems whether passwords are right.
///
/// All applications share one client; each has its own circuit breaker.
package final class FormerSystems: Sendable {
    private let client: CurlClient
    private let secret: @Sendable (PasswordSourceVariable) -> Secret?
    private let limits: FormerSystemLimits
    private let logger: Logger
    private let room = ConcurrencyLimit<ApplicationID>(limit: maxAtOnce)
    private let links = Links<FormerLink.Key, FormerLink> { FormerLink($0) }

    /// The maximum number of questions at the same time; further ones fail with `overloaded`.
    ///
    /// One application has at most three quarters of them.
    package static let maxAtOnce = 64
    /// The maximum size of a response in bytes: a whole user object of Backendless.
    private static let maxReplyBytes = 262_144

    /// Creates the client of former systems.
    ///
    /// The first question opens the first connection.
    ///
    /// - Parameters:
    ///   - client: The HTTP client.
    ///   - limits: The timeouts.
    ///   - secret: Returns the value of an environment variable; nil if it is not set.
    ///   - logger: Logs that a former system knows the login name as that of another user.
    package init(
        client: CurlClient,
        limits: FormerSystemLimits = FormerSystemLimits(),
        secret: @escaping @Sendable (PasswordSourceVariable) -> Secret?,
        logger: Logger
    ) {
        (self.client, self.limits, self.secret, self.logger) = (client, limits, secret, logger)
    }

    /// Returns whether the former system says that a password is right, and names the same user by its `objectId`.
    ///
    /// The question is sent at most once.
    ///
    /// - Parameters:
    ///   - question: The user and the password.
    ///   - source: The former system.
    ///   - application: The application of the user.
    ///   - deadline: The moment by which the answer must be there.
    /// - Returns: False if the password is wrong, if the former system has locked or disabled the user, or if the login
    ///   name is another user's there.
    /// - Throws: `provider_unavailable`, `provider_timeout`, `provider_bad_reply`, `provider_rate_limited`,
    ///   `provider_misconfigured`, `overloaded`: nothing is known about the password.
    package func confirms(
        _ question: FormerPassword,
        by source: PasswordSource,
        of application: ApplicationID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Bool {
        let answered: String?
        do throws(Failure) {
            answered = try await answer(to: question, by: source, of: application, deadline: deadline)
        } catch {
            Outcome.trouble.count()
            throw error
        }
        guard let answered else {
            Outcome.refused.count()
            return false
        }
        guard ObjectID(answered) == question.user else {
            Outcome.otherUser.count()
            logger.warning(
                "password source knows the login name as that of another user, so the login is refused",
                metadata: ["application": "\(application)", "user": "\(question.user)"]
            )
            return false
        }
        Outcome.confirmed.count()
        return true
    }

    /// Returns the `objectId` that the former system has for login name and password; nil if it refuses them.
    private func answer(
        to question: FormerPassword,
        by source: PasswordSource,
        of application: ApplicationID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> String? {
        guard room.enter(application) else {
            throw Failure(.overloaded, "The service is busy. Repeat the request.", retryAfter: 1)
        }
        defer { room.leave(application) }
        let link = links.link(FormerLink.Key(application: application, source: source))
        let pass = try link.pass()
        do throws(ProviderFault) {
            let answer = try await ask(question, by: source, deadline: deadline)
            link.record(nil, of: pass)
            return answer
        } catch {
            link.record(error.signal, of: pass)
            throw error.failure
        }
    }

    private func ask(
        _ question: FormerPassword,
        by source: PasswordSource,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderFault) -> String? {
        let timeout = min(limits.call, deadline - .now)
        guard timeout >= RetryBackoff.leastTime else {
            throw ProviderFault(.timeout(.formerSystem, cause: "no time was left to ask the password source"), .untold)
        }
        let (url, headers) = try address(of: source)
        let running = ProviderCall.formerLogin.begin()
        let reply: HTTPReply
        do throws(CurlError) {
            let request = try HTTPRequest(
                method: .post,
                url: url,
                headers: headers + [("Content-Type", "application/json"), ("Accept", "application/json")],
                body: Self.body(of: question),
                timeout: timeout,
                connectTimeout: min(timeout, limits.connect),
                maxReplyBytes: Self.maxReplyBytes,
                // On a kept connection that is dead, libcurl would send the request twice, and the former system would
                // count two guesses.
                reusesConnection: false
            )
            reply = try await client.send(request)
            running.end()
        } catch {
            running.end(error)
            if case .invalidRequest = error { throw .unusable("\(error)") }
            throw ProviderFault(error, of: .formerSystem)
        }
        return try FormerReply(reply).objectID(from: source.kind)
    }

    /// Returns the URL of a password source, and the header with its secret if the URL does not contain the secret.
    private func address(
        of source: PasswordSource
    ) throws(ProviderFault) -> (HTTPURL, [(name: String, value: String)]) {
        guard let text = source.url, let variable = source.secretVariable else {
            throw .unusable("the setting passwordSource has no url or no secretVariable")
        }
        guard let key = secret(variable), key.byteCount > 0 else {
            throw .unusable("the environment variable \(variable), which passwordSource names, is not set")
        }
        // In an address, every other character could lead to another path.
        guard source.kind != .backendless || key.reveal().utf8.allSatisfy(Self.isPlain) else {
            throw .unusable("\(variable) is no API key of Backendless, which has only letters, digits, - and _")
        }
        let secret = key.reveal()
        do throws(CurlError) {
            let base = try HTTPURL(text)
            guard source.kind == .backendless, let id = source.applicationID else {
                return (base, [("Authorization", "Bearer \(secret)")])
            }
            var path = base.path[...]
            while path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
            return (try base.withTarget("\(path)/\(id)/\(secret)/users/login"), [])
        } catch {
            throw .unusable("\(error)")
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || byte.isOne(of: "-_") }

    private static func body(of question: FormerPassword) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("login", question.login)
            object.member("password", question.password.reveal())
        }
        return writer.bytes
    }

    /// What became of a question.
    private enum Outcome: String {
        case confirmed
        case refused
        case otherUser = "other_user"
        case trouble

        func count() {
            Counter(label: "federation_password_source_total", dimensions: [("outcome", rawValue)]).increment()
        }
    }
}

/// The timeouts of questions to former systems.
package struct FormerSystemLimits: Sendable {
    /// The timeout of a whole question, from name resolution to the last byte.
    package var call: Duration
    /// The timeout for connecting, including the TLS handshake.
    package var connect: Duration

    package init(call: Duration = .milliseconds(2500), connect: Duration = .milliseconds(1000)) {
        (self.call, self.connect) = (call, connect)
    }
}

extension UpstreamService {
    static let formerSystem = UpstreamService(name: "The former user system", api: "password source")
}

/// Metrics have the same names.
extension ProviderCall {
    fileprivate static let formerLogin = ProviderCall("password_source", "login")
}

extension ProviderFault {
    /// Returns the fault for settings or a secret with which no question can be asked.
    static func unusable(_ cause: String, _ signal: HealthSignal = .untold) -> ProviderFault {
        ProviderFault(.unusableConfiguration(cause: cause), signal)
    }
}
