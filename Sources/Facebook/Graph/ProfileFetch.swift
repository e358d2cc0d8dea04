import Vocabulary
import Upstream

/// `/me`: the person behind a token, with the fields that the mapping reads (docs/protocols/facebook.md §2).
enum ProfileFetch {
    /// The question, for fields in Graph's syntax.
    static func question(
        _ fields: String,
        of token: TokenText,
        by caller: GraphCaller,
        now: Int64
    ) throws(Failure) -> GraphQuestion {
        var target = caller.target("me")
        target.add("fields", fields)
        target.add(caller.proof(of: token.text, now: now))
        let tooLong = Failure(
            .mappingInvalid,
            "The mapping asks Facebook for too many fields at once. Map fewer of them."
        )
        return try caller.question(target, bearer: token.text, tooLong: tooLong)
    }

    /// The answer: the Graph user, whose `id` is a text of digits.
    ///
    /// - Throws: `ProviderFault` for everything else.
    static func answer(_ reply: GraphReply, isGraphToken: Bool) throws(ProviderFault) -> JSONObject {
        switch try reply.content() {
        case .error(let error):
            throw reply.fault(error, of: .userToken, isGraphToken: isGraphToken)
        case .object(let user):
            guard let id = user["id"]?.string, Subject(decimal: id) != nil else {
                throw reply.misshapen("/me without an id of a person")
            }
            return user
        }
    }
}
