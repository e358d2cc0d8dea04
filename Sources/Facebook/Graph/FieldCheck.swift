import Curl
import Upstream
import Vocabulary

extension GraphClient {
    /// How many unknown fields one check finds at most, at a call each.
    private static let mostUnknown = 16

    /// Asks Graph by the app's own token which fields of a person it does not have.
    ///
    /// Graph names one unknown field at a time, so the question is repeated without it until Graph names none
    /// (docs/protocols/facebook.md §1.4).
    ///
    /// - Parameters:
    ///   - fields: Graph's `fields` parameter.
    ///   - subject: Somebody whom the app knows.
    ///   - app: The app that asks.
    ///   - settings: Graph version and form of the proof.
    ///   - application: Whose app it is.
    ///   - deadline: When the answer is worth nothing any more.
    ///   - now: Unix seconds, for timed proofs.
    /// - Returns: The fields that Graph does not have. What it has is thrown away with the reply.
    /// - Throws: Any other error of Graph's, which says nothing of the fields.
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
        while !rest.isEmpty, unknown.count < Self.mostUnknown {
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
