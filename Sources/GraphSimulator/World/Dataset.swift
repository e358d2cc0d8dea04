extension GraphSimulator {
    /// The apps, users and tokens that a simulator starts with.
    public struct Dataset: Sendable {
        /// The apps; the first is the default.
        public var apps: [App]
        /// The users; the first is the default.
        public var people: [Person]
        /// The tokens to mint at the start.
        public var tokens: [TokenRequest]
        /// Fields that a version of the Graph API no longer has, in addition to those that Facebook itself has removed.
        public var removedFields: [RemovedField] = []
        /// The users, apps and tokens of the simulated Twitter.
        public var twitter: TwitterDataset
        /// The secret with which requests to the simulated SMS gateway must be signed: `whsec_` followed by base64.
        ///
        /// Without a secret, the gateway refuses every message.
        public var smsSecret: String?

        /// Makes a dataset.
        public init(
            apps: [App] = [],
            people: [Person] = [],
            tokens: [TokenRequest] = [],
            twitter: TwitterDataset = TwitterDataset(),
            smsSecret: String? = nil
        ) {
            self.apps = apps
            self.people = people
            self.tokens = tokens
            self.twitter = twitter
            self.smsSecret = smsSecret
        }

        /// Parses a data file.
        ///
        /// Its form is `{"apps": […], "people": […], "tokens": […], "removedFields": {…}, "twitter": {…}, "sms": {…}}`
        /// (docs/simulator.md).
        ///
        /// - Throws: ``DataError`` with the path to the wrong value and the reason.
        public init(json text: some Collection<UInt8>) throws(DataError) {
            var reader = try JSONReader(JSON(parsing: text))
            self.init(
                apps: try reader.items("apps"),
                people: try reader.items("people"),
                tokens: try reader.list("tokens", TokenRequest.init)
            )
            for entry in try reader.members("removedFields") ?? [] {
                let path = "removedFields.\(entry.name)"
                removedFields.append(try RemovedField(json: entry.value, path: path, key: entry.name))
            }
            twitter = try reader.object("twitter", TwitterDataset.init) ?? TwitterDataset()
            smsSecret = try reader.object("sms") { json, path throws(DataError) in
                var sms = try JSONReader(json, path: path)
                let secret = try sms.requiredString("secret")
                try sms.finish()
                return secret
            }
            try reader.finish()
        }
    }
}
