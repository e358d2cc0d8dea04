/// The JSON form of faults in the control API.
extension Fault {
    /// Reads a fault such as `{"effect": "delay", "milliseconds": 100, "path": "me", "count": 3}`.
    init(json: JSON) throws(DataError) {
        var reader = try JSONReader(json)
        self.init(
            try Effect(&reader),
            path: try reader.string("path"),
            app: try reader.string("app"),
            token: try reader.string("token"),
            after: try reader.integer("after") ?? 0,
            every: try reader.integer("every", in: 1...Int(Int32.max)) ?? 1,
            percent: try reader.number("percent"),
            seed: UInt64(try reader.integer("seed") ?? 1),
            count: try reader.integer("count")
        )
        if case .interrupt(let moment, _) = effect, moment == .accept || moment == .firstBytes {
            guard self.path == nil, app == nil, token == nil else {
                throw reader.failure("at", "\(moment.rawValue) happens before there is a path, an app or a token")
            }
        }
        try reader.finish()
    }
}

extension Fault.Effect {
    /// All names of `effect`, for the error message about an unknown name.
    private static let names = [
        "delay", "hang", "reset", "close", "error", "rateLimit", "reply", "raw", "html502", "empty", "false",
        "redirect", "truncated", "wrongTypes", "dataNull", "duplicateKeys", "idMissing", "extraKeys", "deep", "merge",
        "slow", "huge", "endless", "gzipBomb",
    ]

    fileprivate init(_ reader: inout JSONReader) throws(DataError) {
        let name = try reader.requiredString("effect")
        switch name {
        case "delay": self = .delay(milliseconds: try reader.required("milliseconds"))
        case "hang", "reset", "close":
            self = .interrupt(try reader.word("at") ?? .request, Fault.Manner(rawValue: name) ?? .hang)
        case "error":
            self = .error(
                GraphError(
                    code: try reader.required("code"),
                    subcode: try reader.integer("subcode"),
                    message: try reader.string("message"),
                    status: try reader.status(),
                    type: try reader.string("type") ?? "OAuthException",
                    isTransient: try reader.bool("is_transient"),
                    userTitle: try reader.string("error_user_title"),
                    userMessage: try reader.string("error_user_msg")
                )
            )
        case "rateLimit":
            self = .rateLimit(
                code: try reader.integer("code") ?? 4,
                usage: try reader.object("usage", AppUsage.init)
                    ?? AppUsage(callCount: 100, totalTime: 100, totalCPUTime: 100),
                status: try reader.status(),
                retryAfter: try reader.integer("retryAfter")
            )
        case "reply":
            var headers: [(name: String, value: String)] = []
            for header in try reader.members("headers") ?? [] {
                guard let value = header.value.string, Self.isHeaderText(header.name), Self.isHeaderText(value) else {
                    throw reader.failure("headers", "expected printable names and values")
                }
                headers.append((header.name, value))
            }
            let status = try reader.status() ?? 200
            if let json = reader.value("json") {
                headers.append(("Content-Type", "application/json; charset=UTF-8"))
                self = .reply(status: status, headers: headers, body: json.graphBytes)
            } else {
                self = .reply(status: status, headers: headers, body: Array(try reader.string("body")?.utf8 ?? "".utf8))
            }
        case "raw": self = .raw(Array(try reader.requiredString("bytes").utf8))
        case "html502": self = .html502
        case "empty": self = .empty
        case "false": self = .bareFalse
        case "redirect":
            let location = try reader.requiredString("location")
            guard Self.isHeaderText(location) else { throw reader.failure("location", "expected printable text") }
            self = .redirect(to: location, status: try reader.status() ?? 302)
        case "truncated": self = .damage(.truncated)
        case "wrongTypes": self = .damage(.wrongTypes)
        case "dataNull": self = .damage(.dataNull)
        case "duplicateKeys": self = .damage(.duplicateKeys)
        case "idMissing": self = .damage(.idMissing)
        case "extraKeys": self = .damage(.extraKeys(try reader.integer("keys", in: 0...1_000_000) ?? 100_000))
        case "deep": self = .damage(.deep(try reader.integer("depth", in: 1...10_000_000) ?? 1_000_000))
        case "merge":
            guard let json = reader.value("json") else { throw reader.failure("json", "is missing") }
            self = .damage(.merged(json))
        case "slow":
            self = .slow(
                bytes: try reader.integer("bytes", in: 1...Int(Int32.max)) ?? 1,
                milliseconds: try reader.required("milliseconds")
            )
        case "huge": self = .huge(bytes: try reader.integer("bytes", in: 1...1 << 40) ?? 200_000_000)
        case "endless": self = .endless
        case "gzipBomb": self = .gzipBomb(bytes: try reader.integer("bytes", in: 1...1 << 40) ?? 1_000_000_000)
        default: throw reader.failure("effect", "expected one of \(Self.names.joined(separator: ", "))")
        }
    }

    private static func isHeaderText(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// A short description of the effect, for listings.
    fileprivate var summary: String {
        switch self {
        case .delay(let milliseconds): "delay \(milliseconds) ms"
        case .interrupt(let moment, let manner): "\(manner.rawValue) at \(moment.rawValue)"
        case .error(let error): "error \(error.code), status \(error.status)"
        case .rateLimit(let code, _, let status, _): "rateLimit \(code), status \(status ?? 400)"
        case .reply(let status, _, let body): "reply with status \(status) and \(body.count) bytes"
        case .raw(let bytes): "raw, \(bytes.count) bytes"
        case .damage(let damage): damage.summary
        case .slow(let bytes, let milliseconds): "slow, \(bytes) bytes every \(milliseconds) ms"
        case .huge(let bytes): "huge, \(bytes) bytes"
        case .endless: "endless"
        case .gzipBomb(let bytes): "gzipBomb, \(bytes) bytes"
        }
    }
}

extension Fault.Damage {
    fileprivate var summary: String {
        switch self {
        case .truncated: "truncated"
        case .wrongTypes: "wrongTypes"
        case .dataNull: "dataNull"
        case .duplicateKeys: "duplicateKeys"
        case .idMissing: "idMissing"
        case .extraKeys(let count): "extraKeys \(count)"
        case .deep(let depth): "deep \(depth)"
        case .merged: "merge"
        }
    }
}

extension JSONReader {
    fileprivate mutating func status() throws(DataError) -> Int? {
        try integer("status", in: 200...599)
    }
}

extension FaultSchedule.Entry {
    var json: JSON {
        var json: JSON = ["id": .integer(id), "effect": .string(fault.effect.summary)]
        json["path"] = fault.path.map { .string($0) }
        json["app"] = fault.app.map { .string($0) }
        json["token"] = fault.token.map { .string($0) }
        if fault.after > 0 { json["after"] = .integer(fault.after) }
        if fault.every > 1 { json["every"] = .integer(fault.every) }
        json["percent"] = fault.percent.map { JSON(floatLiteral: $0) }
        json["count"] = fault.count.map { .integer($0) }
        json["matches"] = .integer(matches)
        json["hits"] = .integer(hits)
        return json
    }
}
