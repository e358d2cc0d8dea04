internal import Identity

/// An error as Graph reports it (facebook.md §3.1).
struct GraphError {
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

    /// Whether `debug_token` says that the token was made for another app than the one that asks.
    var saysOtherApp: Bool {
        code == 100 && text.says("App_id in the input_token did not match")
    }

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
