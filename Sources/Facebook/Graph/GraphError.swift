import Encodings

/// An error as Graph reports it (docs/protocols/facebook.md §3.1).
struct GraphError {
    /// The error code that Graph sent.
    let code: Int64?
    let subcode: Int64?
    let text: GraphText
    /// Whether Graph says that a retry may help.
    let isTransient: Bool
    private let type: String?
    private let traceID: String?

    /// Reads the error in a response, in the present or in the oldest format; nil if the response has no error.
    init?(envelope reply: JSONObject) {
        if let error = reply.present("error") {
            self.init(error.object ?? JSONObject(), subcodeKey: "error_subcode")
        } else if reply.present("error_code") != nil || reply.present("error_msg") != nil {
            self.init(["code": reply["error_code"] ?? .null, "message": reply["error_msg"] ?? .null], subcodeKey: "")
        } else if let message = reply.present("error_message") {
            // In this format, `code` is the HTTP status.
            self.init(["message": message], subcodeKey: "")
        } else {
            return nil
        }
    }

    /// Reads the error about the inspected token in a response of `debug_token`.
    ///
    /// In such an error, the subcode is the member `subcode`, not `error_subcode`.
    init(ofInspection error: JSONObject) {
        self.init(error, subcodeKey: "subcode")
    }

    private init(_ error: JSONObject, subcodeKey: String) {
        code = error["code"].flatMap(Self.integer)
        subcode = error[subcodeKey]?.integer
        text = GraphText(error["message"]?.string ?? "")
        isTransient = error["is_transient"]?.bool ?? false
        type = error["type"]?.string.flatMap(Self.plain)
        traceID = error["fbtrace_id"]?.string.flatMap(Self.plain)
    }

    /// The code by which the service interprets the error.
    ///
    /// It is the code that Graph sent, or else a number at the beginning of the text, or else the code that usually
    /// comes with the text.
    var meaning: Int64? { code ?? text.number ?? Self.codes.first { text.says($0.phrase) }?.code }

    /// Phrases of error texts, with their codes (docs/protocols/facebook.md §3.2, §3.4).
    ///
    /// More specific phrases come first.
    private static let codes: [(phrase: String, code: Int64)] = [
        ("user request limit", 17), ("request limit reached", 4),
        ("App_id in the input_token did not match", 100), ("appsecret_proof", 100), ("incorrect signature", 100),
        ("nonexisting field", 100), ("unknown fields", 100), ("must provide an app access token", 100),
        ("unsupported get request", 100), ("verification code", 100), ("authorization code", 100),
        ("redirect_uri", 100),
        ("is deprecated for versions", 12), ("syntax error", 2500), ("unknown path components", 2500),
        ("active access token", 2500), ("access token is required", 104),
        ("reduce the amount of data", 1), ("desktop app", 1), ("client secret", 1), ("unknown error", 1),
        ("temporarily unavailable", 2), ("retry your request", 2),
        ("validating application", 101), ("valid app id", 200), ("api access blocked", 200),
        ("cannot call api for app", 10),
        // All other texts with one of these phrases are about the user's token, in one of many ways.
        ("access token", 190), ("session", 190), ("has not authorized application", 190), ("bad signature", 190),
        ("log in to www.facebook.com", 190), ("not a confirmed user", 190), ("checkpoint", 190), ("permission", 200),
    ]

    /// Whether `debug_token` says that the token was issued for an app other than the requesting one.
    var saysOtherApp: Bool {
        meaning == 100 && text.says("App_id in the input_token did not match")
    }

    /// Whether Facebook blocks the app from its API, for all users.
    var saysBlocked: Bool { text.says("api access blocked") || text.says("cannot call api for app") }

    /// Whether the error is about the `appsecret_proof`.
    var mentionsProof: Bool {
        text.says("appsecret_proof") || text.says("incorrect signature")
    }

    /// Graph's codes for the error, for `errorData` of the service's response, which programs read.
    var details: JSONObject {
        var details = JSONObject()
        if let code { details.append("graphCode", .integer(code)) }
        if let subcode { details.append("graphSubcode", .integer(subcode)) }
        if let type { details.append("graphType", .string(type)) }
        if let traceID { details.append("fbtraceId", .string(traceID)) }
        return details
    }

    /// Returns a code as a number.
    ///
    /// Some mocks and the oldest responses write the number as a text.
    private static func integer(_ value: JSONValue) -> Int64? {
        if let text = value.string { return text.utf8.count <= 20 ? Int64(text) : nil }
        return value.integer
    }

    /// Returns the text if it is an identifier of bounded length; nil otherwise.
    private static func plain(_ text: String) -> String? {
        guard (1...64).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") })
        else { return nil }
        return text
    }
}
