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
        /// "Require App Secret": every request with a token of this app must have an `appsecret_proof`.
        public var requireProof = false
        /// Whether `appsecret_proof` is neither required nor checked.
        ///
        /// Facebook has no such setting.
        public var ignoreProof = false
        /// "Native or desktop app": the app's own tokens count as missing.
        public var desktop = false
        /// The keys of the users whose tokens may ask `debug_token` about this app's tokens.
        public var developers: [String]
        /// The load in `X-App-Usage`, in percent.
        ///
        /// With `nil`, responses have no such header.
        public var usage: AppUsage? = AppUsage()
        /// "Valid OAuth Redirect URIs".
        ///
        /// The login dialog compares them exactly, with the query. An empty list allows any URI.
        public var redirectURIs: [String] = []
        /// An error of the app itself.
        ///
        /// The login dialog redirects every user with this error, and without the parameter `error`.
        public var dialogError: DialogError?
        /// Whether Facebook drops the dialog's `code_challenge`.
        ///
        /// Then the exchange refuses the verifier.
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

    /// An error of the login dialog with only `error_code` and `error_message`.
    public struct DialogError: Sendable, Equatable {
        /// `error_code`.
        public var code: Int
        /// `error_message`.
        public var message: String

        /// Makes an error.
        public init(code: Int, message: String) {
            self.code = code
            self.message = message
        }
    }

    /// The load in `X-App-Usage`, each value in percent of the app's limit.
    public struct AppUsage: Sendable, Equatable {
        /// `call_count`.
        public var callCount: Int
        /// `total_time`.
        public var totalTime: Int
        /// `total_cputime`.
        public var totalCPUTime: Int

        /// Makes a usage; all zero by default.
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
