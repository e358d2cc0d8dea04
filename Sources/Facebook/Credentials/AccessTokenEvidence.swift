package import Domain
package import Encodings
import Providers

/// Graph's response about an access token, from `debug_token`.
///
/// The app's own token (app id and secret) authorized the request.
///
/// See docs/protocols/facebook.md §1.2.
package struct TokenInspection: Sendable {
    /// Whether Facebook considers the token valid (`is_valid`).
    package var isValid: Bool
    /// The kind of token (`type`): `USER`, `APP`, `PAGE`, …; nil if Graph could not decode the token.
    package var type: String?
    /// The id of the app that the token was issued for (`app_id`), as decimal text.
    ///
    /// Graph writes a text or a number.
    package var appID: String?
    /// The id of the user that the token belongs to (`user_id`), as decimal text.
    ///
    /// Graph writes a text or a number.
    package var userID: String?
    /// The expiry of the token in Unix seconds; 0 means never, nil when absent.
    package var expiresAt: Int64?
    /// The expiry of the app's access to the user's data, in Unix seconds; 0 means never, nil when absent.
    package var dataAccessExpiresAt: Int64?
    /// The permissions that the token has.
    package var scopes: [String]
    /// The reason why `isValid` is false, as a failure of this service.
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

/// Graph's responses to `debug_token` and `/me` about one access token.
///
/// The token is accepted only if both responses agree (decision D2).
package struct AccessTokenEvidence: Sendable {
    /// What Graph's response to `debug_token` says about an access token.
    package indirect enum Inspection: Sendable {
        case token(TokenInspection)
        /// Graph said that the token was issued for an app other than the requesting one.
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

/// The request to `debug_token`, which describes a token.
///
/// The app's own token (app id and secret) authorizes the request.
///
/// See docs/protocols/facebook.md §1.2.
enum TokenInspectionCall {
    /// Returns the `debug_token` request about a token.
    static func question(_ token: TokenText, by caller: GraphCaller, now: Int64) throws(Failure) -> GraphQuestion {
        let appToken = caller.appToken
        var target = caller.target("debug_token")
        target.add("input_token", token.text)
        // An app that requires proofs also requires them for its app token. Facebook's own SDKs send a proof here.
        target.add(caller.proof(of: appToken, now: now))
        return try caller.question(.debugToken, target, bearer: appToken, tooLong: TokenText.noToken)
    }

    /// Reads Graph's response to `debug_token`.
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

/// Methods that read members of Graph's JSON with the expected type.
///
/// A member of another type makes the whole response invalid.
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
            // No permission has such a name, so the name is left out and never stored.
            if !text.utf8.contains(0) { texts.append(text) }
        }
        return texts
    }
}

extension JSONValue {
    /// An id as decimal text (docs/protocols/facebook.md §1.2).
    ///
    /// Graph writes an id as a text, and in some versions and places as a number. A number is accepted only if its
    /// literal is an integer within 2^63. So `10.0` and `1e1` are not ids, and no digit is lost.
    var decimalText: String? {
        switch self {
        case .string(let text): text
        case .number(let number):
            number.integer != nil && number.literal.utf8.allSatisfy(\.isASCIIDigit) ? number.literal : nil
        default: nil
        }
    }
}

/// The request to `/me`, which returns the token's user with the fields that the mapping reads.
///
/// See docs/protocols/facebook.md §2.
enum ProfileFetch {
    /// Returns the `/me` request for fields of the token's user.
    ///
    /// `fields` is in Graph's syntax.
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
            "The mapping requests too many fields from Facebook at once. Map fewer fields."
        )
        return try caller.question(.me, target, bearer: token.text, tooLong: tooLong)
    }

    /// Reads the Graph user in the response.
    ///
    /// If Graph wrote `id` as a number, `id` becomes a text of digits.
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
