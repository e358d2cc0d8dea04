import Domain
import Encodings

extension GraphSimulator {
    /// An error of the Graph API: the members of its JSON, and the HTTP status of the response.
    public struct GraphError: Error, Sendable, Equatable {
        /// The HTTP status.
        public var status: Int
        /// The member `type` of the error, such as `OAuthException`.
        public var type: String
        /// The member `code` of the error.
        ///
        /// The code may be one that Graph never returns.
        public var code: Int
        /// The member `error_subcode` of the error; `nil` to omit the member.
        public var subcode: Int?
        /// The member `message` of the error, which is meant for developers.
        public var message: String
        /// The member `is_transient` of the error; `nil` to omit the member.
        public var isTransient: Bool?
        /// The member `error_user_title` of the error; `nil` to omit the member.
        public var userTitle: String?
        /// The member `error_user_msg` of the error; `nil` to omit the member.
        public var userMessage: String?

        /// Makes an error of the Graph API.
        ///
        /// For each omitted parameter, the error has the value that Graph uses together with this code.
        public init(
            code: Int,
            subcode: Int? = nil,
            message: String? = nil,
            status: Int? = nil,
            type: String = "OAuthException",
            isTransient: Bool? = nil,
            userTitle: String? = nil,
            userMessage: String? = nil
        ) {
            let known = Self.defaults(of: code)
            self.status = status ?? known.status
            self.type = type
            self.code = code
            self.subcode = subcode ?? known.subcode
            self.message = message ?? known.message
            self.isTransient = isTransient ?? known.isTransient
            self.userTitle = userTitle
            self.userMessage = userMessage
        }

        private static func defaults(
            of code: Int
        ) -> (status: Int, subcode: Int?, message: String, isTransient: Bool?) {
            switch code {
            case 1: (500, nil, "An unknown error has occurred.", nil)
            case 2: (503, nil, "(#2) Service temporarily unavailable", true)
            case 4: (400, nil, "(#4) Application request limit reached", nil)
            case 10: (403, nil, "(#10) Application does not have permission for this action", nil)
            case 12: (400, nil, "(#12) This field is deprecated for this version and higher", nil)
            case 17: (400, nil, "(#17) User request limit reached", nil)
            case 32: (400, nil, "(#32) Page request limit reached", nil)
            case 101: (400, nil, "Error validating application. Invalid application ID.", nil)
            case 104: (400, nil, "An access token is required to request this resource.", nil)
            case 190: (400, nil, "Invalid OAuth access token.", nil)
            case 200...299: (403, nil, "(#\(code)) Permissions error", nil)
            case 341: (400, nil, "(#341) Application limit reached", nil)
            case 613: (400, nil, "(#613) Calls to this api have exceeded the rate limit.", nil)
            case 803: (404, nil, "(#803) Some of the aliases you requested do not exist", nil)
            case 80000...80014:
                (400, 2_446_079, "(#\(code)) There have been too many calls. Wait a bit and try again.", nil)
            default: (400, nil, "(#\(code)) An error occurred.", nil)
            }
        }
    }
}

typealias GraphError = GraphSimulator.GraphError

extension GraphError {
    /// Returns the body of the response with this error.
    func json(trace: String) -> JSON {
        var error: JSON = ["message": .string(message), "type": .string(type)]
        if !type.hasSameBytes(as: Self.batchException) { error["code"] = .integer(code) }
        error["error_subcode"] = subcode.map { .integer($0) }
        error["is_transient"] = isTransient.map { .bool($0) }
        error["error_user_title"] = userTitle.map { .string($0) }
        error["error_user_msg"] = userMessage.map { .string($0) }
        error["fbtrace_id"] = .string(trace)
        return ["error": error]
    }

    /// The value of the header `WWW-Authenticate`, in Facebook's syntax, which violates RFC 7235.
    ///
    /// The value is `nil` unless the status is 4xx.
    var challenge: String? {
        guard (400..<500).contains(status) else { return nil }
        let word =
            switch (code, subcode, status) {
            case (190, _, _): "invalid_token"
            case (100, 36009, _): "invalid_code"
            case (_, _, 403): "insufficient_scope"
            default: "invalid_request"
            }
        // The message may contain parts of the request. Facebook prevents the injection of headers, so the simulator
        // must, too.
        let safe = message.utf8.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
        return "OAuth \"Facebook Platform\" \"\(word)\" \"\(String(decoding: safe, as: UTF8.self))\""
    }
}

// MARK: - The errors of the simulated endpoints

extension GraphError {
    /// The type of an error about a whole batch.
    ///
    /// Only errors of this type have no member `code`.
    static let batchException = "GraphBatchException"

    static let missingToken = GraphError(
        code: 2500,
        message: "An active access token must be used to query information about the current user."
    )
    static let tokenRequired = GraphError(code: 104)
    static let unparsableToken = GraphError(
        code: 190,
        message: "Invalid OAuth access token - Cannot parse access token"
    )
    static let undecryptableToken = GraphError(code: 190, message: "The access token could not be decrypted")
    static let badSignature = GraphError(code: 190, message: "Bad signature")
    static let badTokenSignature = GraphError(code: 190, message: "Invalid OAuth access token signature.")
    static let debugOnlyToken = GraphError(
        code: 190,
        message: "Invalid OAuth access token - Debug only access token"
    )
    static let applicationUnavailable = GraphError(
        code: 190,
        message: "Error validating application. Cannot get application info due to a system error."
    )
    static let appTokenRequired = GraphError(
        code: 100,
        message: "(#100) You must provide an app access token, or a user access token that is an owner or developer "
            + "of the app"
    )
    static let otherAppsToken = GraphError(
        code: 100,
        message: "(#100) The App_id in the input_token did not match the Viewing App"
    )
    static let inputTokenRequired = GraphError(code: 100, message: "(#100) The parameter input_token is required")
    static let badClientSecret = GraphError(code: 1, message: "Error validating client secret.", status: 400)
    static let proofRequired = GraphError(
        code: 100,
        message: "API calls from the server require an appsecret_proof argument",
        type: "GraphMethodException"
    )
    static let proofInvalid = GraphError(
        code: 100,
        message: "Invalid appsecret_proof provided in the API argument",
        type: "GraphMethodException"
    )

    static func nonexistingField(_ field: String, on node: String) -> GraphError {
        GraphError(code: 100, message: "(#100) Tried accessing nonexisting field (\(field)) on node type (\(node))")
    }

    static func removedField(_ field: RemovedField) -> GraphError {
        GraphError(code: 12, message: "(#12) \(field.name) field is deprecated for versions \(field.since) and higher")
    }

    static func notIssued(for app: App) -> GraphError {
        GraphError(
            code: 190,
            message: "Error validating access token: The token was not issued for application \(app.id)."
        )
    }

    static func syntax(_ problem: String, at offset: Int, of fields: String) -> GraphError {
        GraphError(code: 2500, message: "Syntax error \"\(problem)\" at character \(offset): \(fields)")
    }

    static let unreadBody = GraphError(
        code: 100,
        message: "(#100) The simulator reads bodies of application/x-www-form-urlencoded and application/json only."
    )

    static func unknownPath(_ components: some Sequence<String>) -> GraphError {
        GraphError(code: 2500, message: "Unknown path components: /\(components.joined(separator: "/"))")
    }

    static func unsupported(_ method: String, object: String?) -> GraphError {
        let documentation = "Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api"
        guard let object else {
            return GraphError(
                code: 100,
                message: "Unsupported \(method) request. \(documentation)",
                type: "GraphMethodException"
            )
        }
        return GraphError(
            code: 100,
            subcode: 33,
            message: "Unsupported \(method) request. Object with ID '\(object)' does not exist, cannot be loaded due "
                + "to missing permissions, or does not support this operation. \(documentation)",
            type: "GraphMethodException"
        )
    }
}
