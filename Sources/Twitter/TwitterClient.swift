package import Curl
internal import Upstream
package import Vocabulary

/// Asks Twitter; each question is an extension beside its answer.
///
/// Safe to share; one is enough for all applications.
package final class TwitterClient: Sendable {
    let curl: CurlClient
    package let configuration: TwitterConfiguration
    let clock: WallClock
    let random: RandomSource
    private let links = Links<ConsumerLink.Key, ConsumerLink> { ConsumerLink($0) }

    /// Makes a client; nothing is sent before the first question.
    package init(curl: CurlClient, configuration: TwitterConfiguration, clock: WallClock, random: RandomSource) {
        self.curl = curl
        self.configuration = configuration
        self.clock = clock
        self.random = random
    }

    /// Asks, and asks once more what may be repeated and failed for a passing reason; the breaker learns how it went.
    ///
    /// Each time the request is signed anew, so no nonce is sent twice (decision D13).
    ///
    /// - Parameters:
    ///   - consumer: As whom.
    ///   - application: Whose consumer it is; others that use the same one learn separately.
    ///   - subject: What is asked; each of them learns by itself.
    ///   - repeats: Whether asking twice does no harm.
    ///   - deadline: When the answer is worth nothing any more.
    ///   - question: What is asked, and how the reply is read.
    /// - Returns: The answer.
    /// - Throws: Why there is none.
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
            guard repeats, last == .transient, link.allowsRepeats(pass), await Repetition.pause(before: deadline) else {
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
