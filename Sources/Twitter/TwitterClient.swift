package import Curl
package import Domain
internal import Providers

/// Sends requests to Twitter's API.
///
/// Each kind of request is a method in an extension, in the file that also reads the response. All applications share
/// one client.
package final class TwitterClient: Sendable {
    let curl: CurlClient
    package let configuration: TwitterConfiguration
    let clock: WallClock
    let random: RandomSource
    private let links = Links<ConsumerLink.Key, ConsumerLink> { ConsumerLink($0) }

    /// Creates a client.
    ///
    /// The first request opens the first connection.
    package init(curl: CurlClient, configuration: TwitterConfiguration, clock: WallClock, random: RandomSource) {
        self.curl = curl
        self.configuration = configuration
        self.clock = clock
        self.random = random
    }

    /// Sends a request and records the outcome for the circuit breaker.
    ///
    /// If `repeats` is true and the request failed for a temporary reason, it is retried once. Each attempt has a new
    /// signature, so no nonce is sent twice (decision D13).
    ///
    /// - Parameters:
    ///   - consumer: The consumer (Twitter's word for an app) that signs the request.
    ///   - application: The application of the consumer. Each application has a circuit breaker of its own.
    ///   - subject: The kind of request. Each kind has a circuit breaker of its own.
    ///   - repeats: Whether the request may be retried.
    ///   - deadline: The moment by which the request must be done.
    ///   - question: Sends the request and reads the response.
    /// - Returns: The result of `question`.
    /// - Throws: The failure of the last attempt.
    func ask<Answer: Sendable>(
        by consumer: Consumer,
        of application: ApplicationID,
        about subject: ConsumerLink.Question = .account,
        repeats: Bool,
        deadline: ContinuousClock.Instant,
        _ question: () async throws(ProviderFault) -> Answer
    ) async throws(Failure) -> Answer {
        let link = links.link(
            ConsumerLink.Key(application: application, consumer: consumer.key, question: subject)
        )
        let pass = try link.pass()
        var last: HealthSignal?
        do throws(ProviderFault) {
            let answer = try await question()
            link.record(nil, of: pass)
            return answer
        } catch {
            last = error.signal
            guard repeats, last == .transient, link.allowsRepeats(pass), await RetryBackoff.pause(before: deadline)
            else {
                link.record(last, of: pass)
                throw error.failure
            }
        }
        do throws(ProviderFault) {
            let answer = try await question()
            link.record(nil, of: pass)
            return answer
        } catch {
            link.record(error.signal, of: pass)
            throw error.failure
        }
    }
}
