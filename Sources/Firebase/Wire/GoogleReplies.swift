import Domain
import Encodings
import FoundationEssentials
import HTTP
import HTTPTypes
import Hummingbird

extension Response {
    /// Returns a JSON response.
    static func google(_ object: JSONObject) -> Response { .json(JSONValue.object(object).bytes) }

    /// Returns a JSON response that caches may keep.
    static func google(_ object: JSONObject, cachedFor seconds: Int) -> Response {
        var response = google(object)
        response.headers[.cacheControl] = seconds == 0 ? "no-store" : "public, max-age=\(seconds), must-revalidate"
        return response
    }
}

extension JSONValue {
    /// Returns a time, given in Unix seconds.
    ///
    /// The SDK for iOS reads no time without a fraction of a second.
    static func time(_ seconds: Int64) -> JSONValue {
        let time = Date(timeIntervalSince1970: Double(seconds))
        return .string(time.ISO8601Format(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}

extension JSONObject {
    /// Begins a response of the Identity Toolkit, which names its kind.
    init(kind: String) { self = ["kind": .string("identitytoolkit#\(kind)")] }

    /// Adds the tokens of a session.
    mutating func append(_ pair: IDTokens.Pair) {
        append("idToken", .string(pair.idToken.reveal()))
        append("refreshToken", .string(pair.refreshToken.reveal()))
        append("expiresIn", .string(String(IDTokens.seconds)))
    }
}
