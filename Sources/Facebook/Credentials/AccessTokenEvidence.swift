package import Domain
package import Encodings
import Providers

/// The response of Graph's `debug_token` about an access token, requested with our own app token.
///
/// See docs/protocols/facebook.md §1.2.
package struct TokenInspection: Sendable {
    /// `is_valid`.
    package var isValid: Bool
    /// `type`: `USER`, `APP`, `PAGE`, …; nil when the token could not be decoded.
    package var type: String?
    /// `app_id` as decimal text, whether Graph wrote a text or a number.
    package var appID: String?
    /// `user_id` as decimal text, whether Graph wrote a text or a number.
    package var userID: String?
    /// Unix seconds; 0 means never, nil when absent.
    package var expiresAt: Int64?
    /// Unix seconds; 0 means never, nil when absent.
    package var dataAccessExpiresAt: Int64?
    /// The permissions that the token carries.
    package var scopes: [String]
    /// The reason why `isValid` is false, in our words.
    package var refusal: Failure?

    package init(
        isValid: Bool,
        type: String? = nil,
        appID: String? = nil,
        userID: String? = nil,
        expiresAt: Int64? = nil,
        dataAccessExpiresAt: Int64? = nil,
        scopes: [String] = [],
        refusal: Failure? = nil
    ) {
        self.isValid = isValid
        self.type = type
        self.appID = appID
        self.userID = userID
        self.expiresAt = expiresAt
        self.dataAccessExpiresAt = dataAccessExpiresAt
        self.scopes = scopes
        self.refusal = refusal
    }
}

/// The two responses that must agree before an access token is accepted (decision D2).
package struct AccessTokenEvidence: Sendable {
    /// The outcome of `debug_token`.
    package indirect enum Inspection: Sendable {
        case token(TokenInspection)
        /// Graph said that the token was issued for another app than ours.
        case otherApp
        case failed(Failure)
    }

    /// The outcome of `/me`: the Graph user, or the failure.
    package indirect enum Profile: Sendable {
        case user(JSONObject)
        case failed(Failure)
    }

    package let inspection: Inspection
    package let profile: Profile

    package init(inspection: Inspection, profile: Profile) {
        self.inspection = inspection
        self.profile = profile
    }
}

/// The call of `debug_token`, which describes a token; authorized by the token of our own app.
///
/// See docs/protocols/facebook.md §1.2.
enum TokenInspectionCall {
    /// Returns the request.
    static func question(_ token: TokenText, by caller: GraphCaller, now: Int64) throws(Failure) -> GraphQuestion {
        let appToken = caller.appToken
        var target = caller.target("debug_token")
        target.add("input_token", token.text)
        // Apps that require proofs require them of app tokens, too; Facebook's own SDKs send one here.
        target.add(caller.proof(of: appToken, now: now))
        return try caller.question(.debugToken, target, bearer: appToken, tooLong: TokenText.noToken)
    }

    /// Reads the response.
    ///
    /// - Throws: `ProviderFault` unless Graph gave a verdict on the token.
    static func answer(_ reply: GraphReply, isGraphToken: Bool) throws(ProviderFault) -> AccessTokenEvidence.Inspection
    {
        let object: JSONObject
        switch try reply.content() {
        case .object(let found):
            object = found
        case .error(let error):
            if error.saysOtherApp { return .otherApp }
            throw reply.fault(error, of: .appToken, isGraphToken: isGraphToken)
        }
        guard let data = object["data"]?.object else { throw reply.misshapen("debug_token without data") }
        guard let isValid = data["is_valid"]?.bool else { throw reply.misshapen("debug_token without is_valid") }
        var refusal: Failure?
        if let member = data.present("error") {
            guard let object = member.object else { throw reply.misshapen("an error that is no object") }
            let error = GraphError(ofInspection: object)
            if error.saysOtherApp { return .otherApp }
            let fault = reply.fault(error, of: .userToken, isGraphToken: isGraphToken)
            guard fault.isVerdict else { throw fault }
            refusal = fault.failure
        }
        return .token(
            TokenInspection(
                isValid: isValid,
                type: try reply.text(data, "type"),
                appID: try reply.id(data, "app_id"),
                userID: try reply.id(data, "user_id"),
                expiresAt: try reply.time(data, "expires_at"),
                dataAccessExpiresAt: try reply.time(data, "data_access_expires_at"),
                scopes: try reply.texts(data, "scopes"),
                refusal: refusal
            )
        )
    }
}

/// Members of a response; one member of the wrong type makes the whole response invalid.
extension GraphReply {
    private static let maxTextBytes = 128

    fileprivate func text(_ object: JSONObject, _ key: String) throws(ProviderFault) -> String? {
        guard let value = object.present(key) else { return nil }
        guard let text = value.string, text.utf8.count <= Self.maxTextBytes else {
            throw misshapen("a member that is no text")
        }
        return text
    }

    fileprivate func id(_ object: JSONObject, _ key: String) throws(ProviderFault) -> String? {
        guard let value = object.present(key) else { return nil }
        guard let id = value.decimalText, id.utf8.count <= Self.maxTextBytes else {
            throw misshapen("a member that is no id")
        }
        return id
    }

    fileprivate func time(_ object: JSONObject, _ key: String) throws(ProviderFault) -> Int64? {
        guard let value = object.present(key) else { return nil }
        guard let seconds = value.integer else { throw misshapen("a member that is no time") }
        return seconds
    }

    fileprivate func texts(_ object: JSONObject, _ key: String) throws(ProviderFault) -> [String] {
        guard let value = object.present(key) else { return [] }
        guard let elements = value.array, elements.count <= 1024 else { throw misshapen("a member that is no list") }
        var texts: [String] = []
        for element in elements {
            guard let text = element.string, text.utf8.count <= Self.maxTextBytes else {
                throw misshapen("a list that holds something other than texts")
            }
            // No permission has such a name, so it is left out and never stored.
            if !text.utf8.contains(0) { texts.append(text) }
        }
        return texts
    }
}

extension JSONValue {
    /// An id as decimal text (docs/protocols/facebook.md §1.2).
    ///
    /// Graph writes ids as texts, and in some versions and places as numbers. A number counts only if its literal is an
    /// integer within 2^63, so that `10.0` and `1e1` are no ids and no digit is lost.
    var decimalText: String? {
        switch self {
        case .string(let text): text
        case .number(let number):
            number.integer != nil && number.literal.utf8.allSatisfy(\.isASCIIDigit) ? number.literal : nil
        default: nil
        }
    }
}

/// The call of `/me`: the user of a token, with the fields that the mapping reads (docs/protocols/facebook.md §2).
enum ProfileFetch {
    /// Returns the request, with fields in Graph's syntax.
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
        return try caller.question(.me, target, bearer: token.text, tooLong: tooLong)
    }

    /// Reads the Graph user in the response; its `id` becomes a text of digits, also where Graph wrote a number.
    ///
    /// - Throws: `ProviderFault` for every other response.
    static func answer(_ reply: GraphReply, isGraphToken: Bool) throws(ProviderFault) -> JSONObject {
        switch try reply.content() {
        case .error(let error):
            throw reply.fault(error, of: .userToken, isGraphToken: isGraphToken)
        case .object(let user):
            guard let id = user["id"]?.decimalText, Subject(decimal: id) != nil else {
                throw reply.misshapen("/me without an id of a person")
            }
            return JSONObject(user.members.map { $0.key == "id" ? .init("id", .string(id)) : $0 })
        }
    }
}
