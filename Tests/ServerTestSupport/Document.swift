import FoundationEssentials
import TestSupport
import Testing

/// An application as its operator writes it down, by mappings/README.md.
///
/// The parts are JSON text, to read as in a real document.
struct Document: Sendable {
    /// Its id, and its PostgreSQL schema.
    var application = "demo"
    /// What people call it; its id without one.
    var name: String?
    /// The environment variable that leads to a database of its own.
    var database: String?
    /// Ids of its apps at Facebook; the secret of each is ``Canary/appSecret(of:)``.
    var apps = ["1234567890"]
    var proof = "timed"
    /// Its consumer keys at Twitter; the secret of each is ``Canary/appSecret(of:)``.
    var consumers: [String] = []
    /// Further members of `providers.facebook`, such as `"keepTokens": true, "nonce": "serverIssued"`.
    var options = ""
    /// The environment variable that holds the API key.
    var keyVariable = "API_KEY"
    /// Whether it has a server's key besides.
    var hasServerKey = false
    var settings = "{}"
    var properties = "{}"
    var mapping = "{}"
    var twitterMapping = "{}"

    /// The application that stands beside those of every suite, to show in the end that the service still serves.
    static let witness = Document(application: "witness", mapping: #"{"email": "email", "name": "name"}"#)

    /// The document as a file holds it.
    var text: String {
        let apps = apps.map { #"{"appId": "\#($0)", "appSecret": {"env": "SECRET_\#($0)"}}"# }.joined(separator: ", ")
        let options = options.isEmpty ? "" : ", " + options
        return """
            {"application": "\(application)", \(place)"settings": \(settings),
             "keys": [{"label": "tests", "key": {"env": "\(keyVariable)"}}\(serverKey)],
             "providers": {"facebook": {"enabled": \(apps.isEmpty ? "false" : "true"), "proof": "\(proof)", "apps": [\(apps)]\(options)}\(twitter)},
             "properties": \(properties),
             "mapping": {"facebook": \(mapping)\(consumers.isEmpty ? "" : ", \"twitter\": \(twitterMapping)")}}
            """
    }

    private var place: String {
        (name.map { #""name": "\#($0)", "# } ?? "") + (database.map { #""database": {"env": "\#($0)"}, "# } ?? "")
    }

    private var twitter: String {
        let apps = consumers.map { #"{"consumerKey": "\#($0)", "consumerSecret": {"env": "SECRET_\#($0)"}}"# }
        return apps.isEmpty ? "" : #", "twitter": {"apps": [\#(apps.joined(separator: ", "))]}"#
    }

    private var serverKey: String {
        hasServerKey ? #", {"label": "server", "key": {"env": "SERVER_API_KEY"}, "server": true}"# : ""
    }

    /// The value of ``keyVariable``.
    var apiKey: String { keyVariable == "API_KEY" ? Canary.apiKey : Canary.otherAPIKey }

    /// Runs `federation apply`, which must succeed.
    ///
    /// - Parameters:
    ///   - database: The main database.
    ///   - further: Further variables.
    /// - Throws: What running it throws.
    func apply(to database: TestDatabase, _ further: [String: String] = [:]) async throws {
        let environment = environment(database: database).merging(further) { $1 }
        let applied = try await Self.run("apply", text, environment: environment)
        #expect(applied.exitStatus == .exited(0), "\(applied.standardError)")
    }

    /// The environment of `federation apply`: the service's, and the secrets that the document names.
    func environment(database: TestDatabase) -> [String: String] {
        var environment = Deployment.environment(database: database)
        environment[keyVariable] = apiKey
        if hasServerKey { environment["SERVER_API_KEY"] = Canary.serverAPIKey }
        for app in apps + consumers { environment["SECRET_\(app)"] = Canary.appSecret(of: app) }
        return environment
    }

    /// Runs a command of `federation` on a file of this text.
    ///
    /// - Returns: The ended process.
    static func run(_ command: String, _ text: String, environment: [String: String] = [:]) async throws
        -> ManagedProcess
    {
        try await withFile(text) { try await runFederation([command, $0], environment: environment) }
    }

    /// Lends a file of this text.
    static func withFile<Result>(_ text: String, _ body: (String) async throws -> Result) async throws -> Result {
        let path = FileManager.default.temporaryDirectory.path + "/federation-test-\(UUID()).json"
        try Data(text.utf8).write(to: URL(filePath: path))
        do {
            let result = try await body(path)
            try FileManager.default.removeItem(atPath: path)
            return result
        } catch {
            try? FileManager.default.removeItem(atPath: path)
            throw error
        }
    }
}
