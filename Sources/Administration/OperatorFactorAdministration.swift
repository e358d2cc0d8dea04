import Description
package import Domain
package import Encodings
import Factors

/// Lists, enrols, checks and removes second factors of operators.
///
/// Operators manage their own factors. Operators with the role owner also manage those of others, and so do commands on
/// the service's machine.
package struct OperatorFactorAdministration: Sendable {
    let factors: OperatorFactors

    /// Returns the second factors of the operator who calls, and the kinds that can be enrolled.
    ///
    /// The shape is `{"factors": [{"id", "kind", "label", "codesLeft"?, "created", "lastUsed"}], "kinds": [kind]}`.
    package func list(of caller: CallingOperator) async throws(Failure) -> JSONValue {
        let (factors, kinds) = try await factors.list(of: caller)
        return .object([
            "factors": .array(factors.map { .object($0.json) }),
            "kinds": .array(kinds.map { .string($0.rawValue) }),
        ])
    }

    /// Returns the second factors of an operator.
    package func list(of name: String) async throws(Failure) -> Page {
        guard let name = OperatorName(name) else { throw .noSuchOperator }
        return Page(items: try await factors.list(of: name).map { .object($0.json) }, next: nil)
    }

    /// Begins the enrolment of a second factor from `{"kind", "label"?}`.
    ///
    /// `confirm` then completes the enrolment. Recovery codes are complete without it.
    ///
    /// - Returns: `{"id", "kind", "otpauth"?, "qr"?, "publicKey"?, "expires"}`; for recovery codes `{"id", "kind",
    ///   "recoveryCodes"}`.
    package func begin(
        _ document: JSONValue,
        by caller: CallingOperator,
        actor: ChangeAuthor
    ) async throws(Failure) -> JSONValue {
        let body = try Self.body(document, known: ["kind", "label"])
        guard let kind = try Self.text("kind", in: body).flatMap({ FactorKind(rawValue: $0) }) else {
            let known = FactorKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw DocumentProblems(JSONPointer() / "kind", "must be one of \(known)").failure
        }
        if kind == .recoveryCode {
            let (id, codes) = try await factors.renewRecoveryCodes(of: caller, actor: actor)
            return .object([
                "id": .string(id.description), "kind": .string(kind.rawValue), "recoveryCodes": Self.json(codes),
            ])
        }
        let wish = EnrolmentRequest(kind: kind, label: try Self.text("label", in: body), target: nil)
        let begun = try await factors.begin(wish, by: caller)
        var members: JSONObject = ["id": .string(begun.id.reveal()), "kind": .string(kind.rawValue)]
        if let address = begun.address { members.append("otpauth", .string(address.reveal())) }
        if let picture = begun.picture { members.append("qr", .string(picture.reveal())) }
        if let options = begun.publicKey { members.append("publicKey", .object(options)) }
        members.append("expires", .integer(begun.expires))
        return .object(members)
    }

    /// Completes the enrolment of a second factor by a code or by a passkey: `{"code"}` or `{"credential"}`.
    ///
    /// - Returns: The factor. If the operator had no recovery codes yet, also new ones in the member `recoveryCodes`.
    package func confirm(
        _ id: String,
        _ document: JSONValue,
        by caller: CallingOperator,
        actor: ChangeAuthor
    ) async throws(Failure) -> JSONValue {
        let body = try Self.body(document, known: ["code", "credential"])
        let response = try Self.response(in: body)
        let (factor, codes) = try await factors.confirm(id, by: response, of: caller, actor: actor)
        var members = factor.json
        if !codes.isEmpty { members.append("recoveryCodes", Self.json(codes)) }
        return .object(members)
    }

    /// Removes a second factor of the operator who calls.
    package func remove(_ id: String, of caller: CallingOperator, actor: ChangeAuthor) async throws(Failure) {
        try await factors.remove(id, of: caller, actor: actor)
    }

    /// Removes one second factor of an operator, or all of them, for account recovery.
    ///
    /// `id` is the id of the factor; nil removes all.
    package func remove(_ id: String?, of name: String, by actor: ChangeAuthor) async throws(Failure) {
        guard let name = OperatorName(name) else { throw .noSuchOperator }
        try await factors.remove(id, of: name, actor: actor)
    }

    /// Begins a step-up: before a sensitive request, the operator who calls must use a second factor again.
    ///
    /// The result is `{"pending", "factors": [{"id", "kind", "label"}], "publicKey"?, "expires"}`.
    package func start(by caller: CallingOperator) async throws(Failure) -> JSONValue {
        .object(try await factors.start(by: caller))
    }

    /// Completes a step-up by checking the second factor that the operator who calls has used again.
    ///
    /// The request is `{"pending", "factorId", "code"}` or `{"pending", "credential"}`.
    package func finish(
        _ document: JSONValue,
        by caller: CallingOperator,
        actor: ChangeAuthor
    ) async throws(Failure) {
        let body = try Self.body(document, known: ["pending", "factorId", "code", "credential"])
        try await factors.finish(
            try Self.text("pending", in: body) ?? "",
            factor: try Self.text("factorId", in: body).flatMap { ObjectID($0) },
            by: try Self.response(in: body),
            of: caller,
            actor: actor
        )
    }

    private static func body(_ document: JSONValue, known: [String]) throws(Failure) -> JSONObject {
        guard let body = document.object else { throw DocumentProblems(JSONPointer(), "must be an object").failure }
        for member in body.members where !known.contains(where: { $0.hasSameBytes(as: member.key) }) {
            var problems = DocumentProblems()
            problems.add(unknown: member.key, at: JSONPointer() / member.key, among: known)
            throw problems.failure
        }
        return body
    }

    /// Returns the text of a member of a request; nil when the member is absent.
    ///
    /// - Throws: `document_invalid` for a value that is not a text.
    private static func text(_ key: String, in body: JSONObject) throws(Failure) -> String? {
        guard let value = body.present(key) else { return nil }
        guard let text = value.string else {
            throw DocumentProblems(JSONPointer() / key, "must be a text").failure
        }
        return text
    }

    private static func response(in body: JSONObject) throws(Failure) -> FactorResponse {
        switch (try text("code", in: body), body.present("credential")) {
        case (let code?, nil): return .code(code)
        case (nil, let credential?): return .credential(credential)
        case (_, _):
            let rule = "is required, or credential as the browser returned it"
            throw DocumentProblems(JSONPointer() / "code", rule).failure
        }
    }

    private static func json(_ codes: [Secret]) -> JSONValue { .array(codes.map { .string($0.reveal()) }) }
}
