extension GraphSimulator {
    /// A Facebook app, as its developer configured it.
    public struct App: Sendable, Equatable {
        /// The app id: decimal digits.
        public var id: String
        /// The app secret.
        ///
        /// It is the second half of `id|secret`, and the key of `appsecret_proof`.
        public var secret: String
        /// The name shown as `application` by `debug_token`.
        public var name: String
        /// Facebook's setting "Require App Secret".
        ///
        /// If it is on, every request with a token of this app must have an `appsecret_proof`.
        public var requireProof = false
        /// Whether the simulator neither requires nor checks an `appsecret_proof`.
        ///
        /// Facebook has no such setting.
        public var ignoreProof = false
        /// Facebook's setting "Native or desktop app".
        ///
        /// The simulator treats the app token of such an app as if the request had no token.
        public var desktop = false
        /// The keys of the users who are developers of the app.
        ///
        /// With their own tokens, these users may ask `debug_token` about the app's tokens.
        public var developers: [String]
        /// The load that the header `X-App-Usage` reports for this app; `nil` for responses without this header.
        public var usage: AppUsage? = AppUsage()
        /// Facebook's setting "Valid OAuth Redirect URIs".
        ///
        /// The login dialog compares redirect URIs exactly, with the query. An empty list allows any URI.
        public var redirectURIs: [String] = []
        /// The error that the login dialog reports to the app for every user; `nil` for a dialog that works.
        ///
        /// The redirect to the app then has `error_code` and `error_message`, but no parameter `error`.
        public var dialogError: DialogError?
        /// Whether the login dialog ignores the parameter `code_challenge`.
        ///
        /// If so, every request that exchanges a code with a `code_verifier` is refused.
        public var dropChallenge = false

        /// Makes an app.
        ///
        /// The default name is the id.
        public init(id: String, secret: String, name: String? = nil, developers: [String] = []) {
            self.id = id
            self.secret = secret
            self.name = name ?? id
            self.developers = developers
        }
    }

    /// An error that the login dialog reports to the app with only the parameters `error_code` and `error_message`.
    public struct DialogError: Sendable, Equatable {
        /// The value of the parameter `error_code`.
        public var code: Int
        /// The value of the parameter `error_message`.
        public var message: String

        /// Makes an error of the login dialog.
        public init(code: Int, message: String) {
            self.code = code
            self.message = message
        }
    }

    /// The load of an app, as the header `X-App-Usage` reports it.
    ///
    /// Each value is in percent of the app's limit.
    public struct AppUsage: Sendable, Equatable {
        /// The member `call_count` of the header: the number of calls, in percent of the app's limit.
        public var callCount: Int
        /// The member `total_time` of the header: the duration of all calls, in percent of the app's limit.
        public var totalTime: Int
        /// The member `total_cputime` of the header: the processor time of all calls, in percent of the app's limit.
        public var totalCPUTime: Int

        /// Makes a load for the header `X-App-Usage`, in percent of the app's limit.
        public init(callCount: Int = 0, totalTime: Int = 0, totalCPUTime: Int = 0) {
            self.callCount = callCount
            self.totalTime = totalTime
            self.totalCPUTime = totalCPUTime
        }
    }
}

typealias App = GraphSimulator.App
typealias AppUsage = GraphSimulator.AppUsage

extension GraphSimulator.DialogError {
    fileprivate init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(code: try reader.required("code"), message: try reader.requiredString("message"))
        try reader.finish()
    }
}

extension AppUsage {
    init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(
            callCount: try reader.integer("call_count") ?? 0,
            totalTime: try reader.integer("total_time") ?? 0,
            totalCPUTime: try reader.integer("total_cputime") ?? 0
        )
        try reader.finish()
    }

    var json: JSON {
        ["call_count": .integer(callCount), "total_time": .integer(totalTime), "total_cputime": .integer(totalCPUTime)]
    }
}

extension App: Keyed {
    static let keyName = "id"

    var key: String {
        get { id }
        set { id = newValue }
    }

    init(json: JSON, path: String, key: String? = nil) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        let id = try reader.key("id", address: key)
        guard id.utf8.count <= 20, id.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else {
            throw reader.failure("id", "expected 1 to 20 decimal digits")
        }
        self.init(id: id, secret: try reader.requiredString("secret"), name: try reader.string("name"))
        requireProof = try reader.bool("requireProof") ?? false
        ignoreProof = try reader.bool("ignoreProof") ?? false
        desktop = try reader.bool("desktop") ?? false
        developers = try reader.strings("developers") ?? []
        let usage = try reader.object("usage") { json, path throws(DataError) in
            json == false ? nil : try AppUsage(json: json, path: path)
        }
        self.usage = usage ?? AppUsage()
        redirectURIs = try reader.strings("redirectUris") ?? []
        dialogError = try reader.object("dialogError", GraphSimulator.DialogError.init)
        dropChallenge = try reader.bool("dropChallenge") ?? false
        try reader.finish()
    }

    var json: JSON {
        var json: JSON = [
            "id": .string(id), "secret": .string(secret), "name": .string(name), "requireProof": .bool(requireProof),
            "ignoreProof": .bool(ignoreProof), "desktop": .bool(desktop), "developers": .strings(developers),
            "usage": usage?.json ?? false, "redirectUris": .strings(redirectURIs),
            "dropChallenge": .bool(dropChallenge),
        ]
        json["dialogError"] = dialogError.map { ["code": .integer($0.code), "message": .string($0.message)] }
        return json
    }
}
