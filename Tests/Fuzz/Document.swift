import Administration
import Curl
import Description
import Domain
import Encodings
import Facebook
import Logging
import Mapping
import Providers
import Secrets
import SignedTokens
import Twitter

extension FuzzTarget {
    /// The target of documents.
    ///
    /// An accepted document keeps the rules that operators read, and its mappings are usable. Stored and read again
    /// they are the same, and they convert a profile to values of the properties' types. A refused document has a
    /// problem with a place.
    static let document = FuzzTarget("document") { input in
        let kinds = try kinds.get()
        var isTaken = false
        for origin in [ApplicationDocument.Origin.file, .request] {
            let document: ApplicationDocument
            do throws(DocumentProblems) {
                document = try ApplicationDocument(text: input, origin: origin, kinds: kinds)
            } catch {
                try promise("a refusal has a problem", !error.isEmpty)
                let places = error.problems.map(\.pointer.text)
                try promise("a problem has a place", places.allSatisfy { $0.isEmpty || $0.hasPrefix("/") })
                continue
            }
            isTaken = true
            let names = document.properties.map { $0.name.text.lowercased() }
            try promise("no property is there twice, in whatever case", Set(names).count == names.count)
            try promise("at most 100 keys", document.keys.count <= 100)
            if origin == .file {
                let secrets = document.keys.map(\.key) + document.providers.values.flatMap { $0.apps.map(\.secret) }
                for case .value in secrets { throw BrokenPromise(description: "a file holds a secret") }
            }
            for (name, mapping) in document.mappings {
                guard let kind = document.providers[name].flatMap({ kinds.named($0.kind) }) ?? kinds.named(name) else {
                    continue
                }
                try check(mapping, of: document, fields: kind.fields)
            }
        }
        return isTaken
    }

    private static func check(
        _ json: JSONValue,
        of document: ApplicationDocument,
        fields: ProfileFields
    ) throws {
        guard let mapping = try? Mapping(json),
            let compiled = try? CompiledMapping(
                stored: mapping,
                client: nil,
                fields: fields,
                properties: document.properties,
                settings: document.settings
            )
        else { throw BrokenPromise(description: "the mapping of a document that is taken cannot be used") }
        try promise("a stored mapping is read as the same", (try? Mapping(mapping.json)) == mapping)
        let profile = AdmittedProfile(try profile.get(), by: fields)
        guard let mapped = try? compiled.apply(to: profile, grantedScopes: nil) else { return }
        try promise("there is a value or nothing for each target", mapped.values.count == compiled.targets.count)
        for (value, target) in zip(mapped.values, compiled.targets) {
            try promise("a value has its property's type", value.map(target.type.holds) ?? true)
        }
    }

    private static let profile = Result {
        try JSONParser.parse(
            #"""
            {"id": "10150000000000001", "name": "Ann Example", "first_name": "Ann", "email": "ann@example.com",
             "birthday": "03/23/1985", "age_range": {"min": 21}, "link": "https://www.facebook.com/1", "gender": "",
             "location": {"id": "12", "name": "Vienna \u00e9"},
             "picture": {"data": {"height": 50, "is_silhouette": false}},
             "friends": {"data": [{"id": "1", "name": "Bob"}], "summary": {"total_count": 1}},
             "id_str": "12", "screen_name": "ann", "followers_count": 12345678901234567890, "verified": true,
             "created_at": "Wed Jun 06 20:07:10 +0000 2012"}
            """#,
            limits: .reply
        ).object ?? JSONObject()
    }

    /// The provider kinds of the service; nothing listens at their addresses, and nothing sends a request.
    private static let kinds = Result {
        let curl = try CurlClient(configuration: CurlConfiguration())
        let graph = GraphClient(curl: curl, configuration: try GraphConfiguration(baseURL: "http://127.0.0.1:9"))
        let keys = SigningKeys(issuer: "Facebook", logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }) {
            (deadline) throws(Failure) in
            try await graph.signingKeys(deadline: deadline)
        }
        let twitter = TwitterClient(
            curl: curl,
            configuration: try TwitterConfiguration(baseURL: "http://127.0.0.1:9"),
            clock: .system,
            random: .system
        )
        return ProviderKinds([FacebookKind(graph: graph, keys: keys, clock: .system), TwitterKind(client: twitter)])
    }
}

extension PropertyType {
    fileprivate func holds(_ value: PropertyValue) -> Bool {
        switch (self, value) {
        case (.string, .text), (.text, .text), (.int, .integer), (.double, .double), (.boolean, .boolean),
            (.date, .date), (.dateTime, .dateTime), (.json, .json):
            true
        default: false
        }
    }
}
