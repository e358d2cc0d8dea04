internal import Curl
internal import Domain
internal import Encodings
internal import Providers

/// A response of Twitter, not parsed yet.
struct TwitterReply {
    let status: Int
    let body: [UInt8]
    /// The seconds until a retry, as Twitter requests.
    private let retryAfter: Int?

    /// Creates the response from an HTTP response.
    ///
    /// `now` is the current time in Unix seconds.
    init(_ reply: HTTPReply, now: Int64) {
        status = reply.status
        body = reply.body
        retryAfter =
            reply.header("Retry-After").flatMap(RateLimit.seconds(retryAfter:))
            ?? reply.header("x-rate-limit-reset").flatMap { RateLimit.seconds(untilReset: $0, now: now) }
    }

    /// Parses the JSON object in a successful response.
    ///
    /// A response with an error in its body counts as failed, even if its HTTP status is 200.
    ///
    /// - Throws: `ProviderFault` for every other response.
    func object(about subject: TwitterErrorTable.Subject) throws(ProviderFault) -> JSONObject {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONParser.parse(body, limits: .profile)
        } catch {
            throw status == 200 ? misshapen("the reply \(error)") : fault(code: nil, about: subject)
        }
        guard let object = value.object else {
            throw status == 200 ? misshapen("the reply is \(value.kind)") : fault(code: nil, about: subject)
        }
        if object.present("errors") != nil || status != 200 { throw fault(code: Self.code(in: object), about: subject) }
        return object
    }

    /// Returns the body of a successful response as text.
    ///
    /// The body must be printable ASCII of at most `maxBytes` bytes.
    func text(about subject: TwitterErrorTable.Subject, maxBytes: Int) throws(ProviderFault) -> String {
        guard status == 200 else {
            let object = (try? JSONParser.parse(body, limits: .reply))?.object
            throw fault(code: object.flatMap(Self.code), about: subject)
        }
        guard body.count <= maxBytes, body.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw misshapen("the reply is no line of ASCII")
        }
        return String(decoding: body, as: UTF8.self)
    }

    /// Returns the fault for a response of an unexpected structure.
    func misshapen(_ what: String) -> ProviderFault {
        ProviderFault(.badReply(.twitter, cause: "Twitter: \(what)"), .answered)
    }

    private func fault(code: Int64?, about subject: TwitterErrorTable.Subject) -> ProviderFault {
        TwitterErrorTable(subject: subject, retryAfter: retryAfter).fault(code: code, status: status)
    }

    /// Returns the code of the first error in Twitter's response.
    ///
    /// The code is a number; some mocks of Twitter send a text.
    private static func code(in reply: JSONObject) -> Int64? {
        guard let code = reply["errors"]?.array?.first?.object?["code"] else { return nil }
        if let text = code.string { return text.utf8.count <= 20 ? Int64(text) : nil }
        return code.integer
    }
}

extension RateLimit {
    /// Returns the seconds until Twitter's rate limit ends.
    ///
    /// The header `x-rate-limit-reset` has the end of the limit in Unix seconds.
    static func seconds(untilReset header: String, now: Int64) -> Int? {
        guard (1...15).contains(header.utf8.count), header.utf8.allSatisfy(\.isASCIIDigit), let reset = Int64(header)
        else {
            return nil
        }
        return Int(min(max(reset - now, 1), Int64(longest)))
    }
}
