extension GraphSimulator {
    /// The apps, people and tokens that a simulator starts with.
    public struct Dataset: Sendable {
        /// The apps; the first is the default wherever one may be named.
        public var apps: [App]
        /// The people; the first is the default wherever one may be named.
        public var people: [Person]
        /// The tokens to mint at the start.
        public var tokens: [TokenRequest]
        /// Fields that some version took away, beside those that Graph took away itself.
        public var removedFields: [RemovedField]
        /// What exists at Twitter.
        public var twitter: TwitterDataset
        /// The secret of the SMS gateway, `whsec_` and base64; without one it takes nothing.
        public var smsSecret: String?

        /// Makes a dataset.
        public init(
            apps: [App] = [],
            people: [Person] = [],
            tokens: [TokenRequest] = [],
            removedFields: [RemovedField] = [],
            twitter: TwitterDataset = TwitterDataset(),
            smsSecret: String? = nil
        ) {
            self.apps = apps
            self.people = people
            self.tokens = tokens
            self.removedFields = removedFields
            self.twitter = twitter
            self.smsSecret = smsSecret
        }

        /// Reads a data file: `{"apps": […], "people": […], "tokens": […], "removedFields": {…}, "twitter": {…},
        /// "sms": {…}}`, see docs/simulator.md.
        /// - Throws: ``DataError`` naming the entry at fault and the reason.
        public init(json text: some Collection<UInt8>) throws(DataError) {
            var reader = try JSONReader(JSON(parsing: text), path: "")
            self.init()
            for (index, entry) in try reader.list("apps").enumerated() {
                apps.append(try App(json: entry, path: "apps[\(index)]"))
            }
            for (index, entry) in try reader.list("people").enumerated() {
                people.append(try Person(json: entry, path: "people[\(index)]"))
            }
            for (index, entry) in try reader.list("tokens").enumerated() {
                tokens.append(try TokenRequest(json: entry, path: "tokens[\(index)]"))
            }
            for entry in try reader.object("removedFields") ?? [] {
                removedFields.append(
                    try RemovedField(entry.name, json: entry.value, path: "removedFields.\(entry.name)")
                )
            }
            if let entry = reader.value("twitter") { twitter = try TwitterDataset(json: entry, path: "twitter") }
            if let entry = reader.value("sms") {
                var sms = try JSONReader(entry, path: "sms")
                smsSecret = try sms.requiredString("secret")
                try sms.finish()
            }
            try reader.finish()
        }
    }
}
