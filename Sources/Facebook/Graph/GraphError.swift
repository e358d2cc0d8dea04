import Vocabulary

/// An error as Graph reports it (docs/protocols/facebook.md §3.1).
struct GraphError {
    /// As Graph gave it.
    let code: Int64?
    let subcode: Int64?
    let text: GraphText
    /// Graph's own word that repeating may help.
    let isTransient: Bool
    private let type: String?
    private let traceID: String?

    /// The error of a reply whose object has one, in today's envelope or in the one of long ago.
    init?(envelope reply: JSONObject) {
        if let error = reply.present("error") {
            self.init(error.object ?? JSONObject(), subcodeKey: "error_subcode")
        } else if reply.present("error_code") != nil || reply.present("error_msg") != nil {
            self.init(["code": reply["error_code"] ?? .null, "message": reply["error_msg"] ?? .null], subcodeKey: "")
        } else if let message = reply.present("error_message") {
            // The `code` beside it is the HTTP status.
            self.init(["message": message], subcodeKey: "")
        } else {
            return nil
        }
    }

    /// The error inside a reply of `debug_token` about the token in question, whose subcode has another name.
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

    /// The code that counts: the one that Graph gave, or else the one that its text is known to come with.
    var meaning: Int64? { code ?? text.number ?? Self.codes.first { text.says($0.phrase) }?.code }

    /// Texts of errors and the code of each (docs/protocols/facebook.md §3.2, §3.4), the more telling in front.
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
        // What is left of these speaks of the person's token, in one of many ways.
        ("access token", 190), ("session", 190), ("has not authorized application", 190), ("bad signature", 190),
        ("log in to www.facebook.com", 190), ("not a confirmed user", 190), ("checkpoint", 190), ("permission", 200),
    ]

    /// Whether `debug_token` says that the token was made for another app than the one that asks.
    var saysOtherApp: Bool {
        meaning == 100 && text.says("App_id in the input_token did not match")
    }

    /// Whether Facebook keeps the app from its API, whoever the person is.
    var saysBlocked: Bool { text.says("api access blocked") || text.says("cannot call api for app") }

    /// Whether the proof that goes with a token is at fault.
    var mentionsProof: Bool {
        text.says("appsecret_proof") || text.says("incorrect signature")
    }

    /// What a program may know of it: the members of `errorData`.
    var details: JSONObject {
        var details = JSONObject()
        if let code { details.append("graphCode", .integer(code)) }
        if let subcode { details.append("graphSubcode", .integer(subcode)) }
        if let type { details.append("graphType", .string(type)) }
        if let traceID { details.append("fbtraceId", .string(traceID)) }
        return details
    }

    /// Codes are numbers; some mocks and the oldest replies write them as texts.
    private static func integer(_ value: JSONValue) -> Int64? {
        if let text = value.string { return text.utf8.count <= 20 ? Int64(text) : nil }
        return value.integer
    }

    /// A text that is an identifier of bounded length, and nothing else.
    private static func plain(_ text: String) -> String? {
        guard (1...64).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") })
        else { return nil }
        return text
    }
}
