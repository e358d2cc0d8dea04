package import Identity
package import Mapping

/// An application as its operator writes it down: the document of design.md §8, checked as far as that needs no database.
package struct ApplicationDocument: Sendable {
    package let id: ApplicationID
    package let name: String
    /// The PostgreSQL schema for its users; the id unless told otherwise.
    package let schema: String
    package let settings: ApplicationSettings
    /// Labels and the environment variables that hold the keys.
    package let keys: [Key]
    package let facebook: Facebook?
    package let properties: [Property]
    package let mapping: Mapping?

    package struct Key: Sendable {
        package let label: String
        package let variable: String
    }

    package struct Facebook: Sendable {
        package let enabled: Bool
        package let graphVersion: String
        package let proof: ProofForm
        package let apps: [App]

        package struct App: Sendable {
            package let id: FacebookAppID
            /// The environment variable that holds the app secret.
            package let secretVariable: String
        }
    }

    /// Reads the text of a document.
    ///
    /// - Throws: `DocumentProblems` with every problem and its place.
    package init(text: [UInt8]) throws(DocumentProblems) {
        let value: JSONValue
        do { value = try JSONParser.parse(text, limits: .document) } catch {
            var problems = DocumentProblems()
            problems.add("", "\(error)")
            throw problems
        }
        try self.init(value)
    }

    /// Reads a document.
    package init(_ value: JSONValue) throws(DocumentProblems) {
        var reader = DocumentReader()
        guard let object = value.object else {
            reader.problems.add("", "the document must be a JSON object")
            throw reader.problems
        }
        reader.refuseUnknown(
            in: object,
            at: "",
            known: ["application", "name", "schema", "settings", "keys", "providers", "properties", "mapping"]
        )
        let id = reader.required(
            object["application"]?.string.flatMap { ApplicationID($0) },
            "application",
            """
            must be 1 to 63 letters, digits, _ or -, beginning with a letter or digit
            """
        )
        name = reader.text(object["name"], at: "name", bytes: 1...200) ?? id?.text ?? ""
        schema = reader.schema(object["schema"], id: id)
        settings = SettingsDocument.parse(object["settings"], at: "settings", problems: &reader.problems)
        keys = reader.keys(object["keys"])
        facebook = reader.facebook(object["providers"])
        properties = reader.properties(object["properties"])
        mapping = reader.mapping(object["mapping"], of: properties)
        guard reader.problems.isEmpty, let id else { throw reader.problems }
        self.id = id
    }
}
