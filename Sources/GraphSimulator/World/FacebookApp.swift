extension GraphSimulator {
    /// A Facebook app, as its developer configured it.
    public struct App: Sendable, Equatable {
        /// Decimal digits.
        public var id: String
        /// The app secret: the second half of `id|secret`, and the key of `appsecret_proof`.
        public var secret: String
        /// The name shown as `application` by `debug_token`.
        public var name: String
        /// "Require App Secret": every call with a token of this app must carry an `appsecret_proof`.
        public var requireProof: Bool
        /// No real setting: a Graph that never looks at `appsecret_proof`, neither for its presence nor its value.
        public var ignoreProof: Bool
        /// "Native or desktop app": the app's own tokens count for nothing, as if none had been sent.
        public var desktop: Bool
        /// Keys of the people whose user tokens may ask `debug_token` about this app's tokens.
        public var developers: [String]
        /// What `X-App-Usage` says, in percent; `nil` leaves the header out.
        public var usage: AppUsage?
        /// "Valid OAuth Redirect URIs", which the login dialog compares exactly, query and all; empty allows every one.
        public var redirectURIs: [String]
        /// What is wrong with the app itself: the login dialog sends everybody back with it, and with no `error`.
        public var dialogError: DialogError?
        /// A Facebook that forgets the `code_challenge` of the dialog, and so refuses the verifier at the exchange.
        public var dropChallenge: Bool

        /// Makes an app; the name defaults to the id.
        public init(
            id: String,
            secret: String,
            name: String? = nil,
            requireProof: Bool = false,
            ignoreProof: Bool = false,
            desktop: Bool = false,
            developers: [String] = [],
            usage: AppUsage? = AppUsage(),
            redirectURIs: [String] = [],
            dialogError: DialogError? = nil,
            dropChallenge: Bool = false
        ) {
            self.id = id
            self.secret = secret
            self.name = name ?? id
            self.requireProof = requireProof
            self.ignoreProof = ignoreProof
            self.desktop = desktop
            self.developers = developers
            self.usage = usage
            self.redirectURIs = redirectURIs
            self.dialogError = dialogError
            self.dropChallenge = dropChallenge
        }
    }

    /// An error of the login dialog that has `error_code` and `error_message` and nothing else.
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

    /// The load that `X-App-Usage` reports, each in percent of the app's limit.
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
typealias DialogError = GraphSimulator.DialogError

extension DialogError {
    fileprivate init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        guard let code = try reader.integer("code") else { throw reader.failure("code", "is missing") }
        self.init(code: code, message: try reader.requiredString("message"))
        try reader.finish()
    }

    fileprivate var json: JSON { ["code": .integer(code), "message": .string(message)] }
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
        [
            "call_count": .integer(callCount), "total_time": .integer(totalTime),
            "total_cputime": .integer(totalCPUTime),
        ]
    }
}

extension App {
    init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        let id = try reader.requiredString("id")
        guard id.utf8.count <= 20, id.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else {
            throw reader.failure("id", "expected 1 to 20 decimal digits")
        }
        var usage: AppUsage? = AppUsage()
        switch reader.value("usage") {
        case nil: break
        case .bool(false)?: usage = nil
        case let value?: usage = try AppUsage(json: value, path: reader.place(of: "usage"))
        }
        self.init(
            id: id,
            secret: try reader.requiredString("secret"),
            name: try reader.string("name"),
            requireProof: try reader.bool("requireProof") ?? false,
            ignoreProof: try reader.bool("ignoreProof") ?? false,
            desktop: try reader.bool("desktop") ?? false,
            developers: try reader.strings("developers") ?? [],
            usage: usage,
            redirectURIs: try reader.strings("redirectUris") ?? [],
            dialogError: try reader.value("dialogError").map { value throws(DataError) in
                try DialogError(json: value, path: reader.place(of: "dialogError"))
            },
            dropChallenge: try reader.bool("dropChallenge") ?? false
        )
        try reader.finish()
    }

    var json: JSON {
        var json: JSON = [
            "id": .string(id), "secret": .string(secret), "name": .string(name), "requireProof": .bool(requireProof),
            "ignoreProof": .bool(ignoreProof), "desktop": .bool(desktop),
            "developers": .array(developers.map { .string($0) }), "usage": usage?.json ?? false,
            "redirectUris": .array(redirectURIs.map { .string($0) }), "dropChallenge": .bool(dropChallenge),
        ]
        json["dialogError"] = dialogError?.json
        return json
    }
}
