import Curl
import Domain
import Encodings
import Providers

extension GraphClient {
    /// The maximum number of unknown fields that one check finds.
    ///
    /// Each unknown field takes one request.
    private static let maxUnknown = 16

    /// Requests fields of a user with the app token, to learn which fields do not exist.
    ///
    /// Each error of Graph names one unknown field. The request is repeated without that field, until Graph names none
    /// (docs/protocols/facebook.md §1.4).
    ///
    /// - Parameters:
    ///   - fields: Graph's `fields` parameter.
    ///   - subject: A user of the app.
    ///   - app: The app whose token is used.
    ///   - settings: The Graph version and the form of the proof.
    ///   - application: The application of the app.
    ///   - deadline: The moment by which the check must be done.
    ///   - now: The current time in Unix seconds, for timed proofs.
    /// - Returns: The fields that Graph does not know. The values of the other fields are discarded.
    /// - Throws: Any other error of Graph. It does not show which fields exist.
    func unknownFields(
        among fields: String,
        of subject: Subject,
        app: ProviderApp,
        settings: FacebookSettings,
        application: ApplicationID,
        deadline: ContinuousClock.Instant,
        now: Int64
    ) async throws(Failure) -> [String] {
        let caller = try GraphCaller(app, settings, configuration)
        let link = link(AppLink.Key(application: application, app: app.id))
        var rest = fields.split(separator: ",").map(String.init)
        var unknown: [String] = []
        while !rest.isEmpty, unknown.count < Self.maxUnknown {
            var target = caller.target(subject.text)
            target.add("fields", rest.joined(separator: ","))
            target.add(caller.proof(of: caller.appToken, now: now))
            let question = try caller.question(.fields, target, bearer: caller.appToken)
            let failure: Failure
            do throws(ProviderFault) {
                let reply = try await question.ask(curl, configuration, until: deadline, of: link)
                guard case .error(let error) = try reply.content() else { return unknown }
                failure = reply.fault(error, of: .userToken, isGraphToken: true).failure
            } catch {
                failure = error.failure
            }
            guard failure.reason == .mappingInvalid, let name = failure.details["field"]?.string,
                let index = rest.firstIndex(where: { $0.hasSameBytes(as: name) })
            else { throw failure }
            unknown.append(rest.remove(at: index))
        }
        return unknown
    }
}
