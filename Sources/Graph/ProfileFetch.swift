internal import Identity

/// `/me`: the person behind a token, with the fields that the mapping reads (facebook.md §2).
enum ProfileFetch {
    /// The question.
    static func question(_ login: LoginQuestion) throws(Failure) -> GraphQuestion {
        var target = login.target("me")
        target.add("fields", login.fields)
        target.add(login.proof(of: login.token))
        let tooLong = Failure(
            .mappingInvalid,
            "The mapping asks Facebook for too many fields at once. Map fewer of them."
        )
        return try login.question(target, bearer: login.token, tooLong: tooLong)
    }

    /// The answer: the Graph user, whose `id` is decimal text however Graph wrote it.
    ///
    /// - Throws: `GraphFault` for everything else.
    static func answer(_ reply: GraphReply, isGraphToken: Bool) throws(GraphFault) -> JSONObject {
        switch try reply.content() {
        case .error(let error):
            throw reply.fault(error, of: .userToken, isGraphToken: isGraphToken)
        case .object(let user):
            guard let id = user["id"]?.idText, let subject = Subject(id) else {
                throw reply.misshapen("/me without an id")
            }
            if case .string = user["id"] { return user }
            return JSONObject(
                user.members.map { $0.key.hasSameBytes(as: "id") ? .init("id", .string(subject.text)) : $0 }
            )
        }
    }
}
