import FoundationEssentials
import Testing
import TestSupport

/// The configuration document of an application, as in mappings/README.md.
///
/// The parts are JSON text, so that they read as in a real document.
struct Document: Sendable {
    /// The application's id and PostgreSQL schema.
    var application = "demo"
    /// The application's display name; the id if `nil`.
    var name: String?
    /// The environment variable with the URL of a database of its own.
    var database: String?
    /// The ids of the Facebook apps; the secret of each is ``Canary/appSecret(of:)``.
    var apps = ["1234567890"]
    var proof = "timed"
    /// The Twitter consumer keys; the secret of each is ``Canary/appSecret(of:)``.
    var consumers: [String] = []
    /// Additional members of `providers.facebook`, such as `"keepTokens": true, "nonce": "serverIssued"`.
    var options = ""
    /// The environment variable with the API key.
    var keyVariable = "API_KEY"
    /// Whether the application also has a server API key.
    var hasServerKey = false
    var settings = "{}"
    var properties = "{}"
    var mapping = "{}"
    var twitterMapping = "{}"

    /// An extra application of every suite, which shows in the end that the service still serves.
    static let witness = Document(application: "witness", mapping: #"{"email": "email", "name": "name"}"#)

    /// The text of the document's file.
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

    /// Runs `federation apply` and expects success.
    ///
    /// - Parameters:
    ///   - database: The main database.
    ///   - further: Additional variables.
    /// - Throws: An error of running the command.
    func apply(to database: TestDatabase, _ further: [String: String] = [:]) async throws {
        let environment = environment(database: database).merging(further) { $1 }
        let applied = try await Self.run("apply", text, environment: environment)
        #expect(applied.exitStatus == .exited(0), "\(applied.standardError)")
    }

    /// The environment of `federation apply`: the service's, with the secrets that the document names.
    func environment(database: TestDatabase) -> [String: String] {
        var environment = Deployment.environment(database: database)
        environment[keyVariable] = apiKey
        if hasServerKey { environment["SERVER_API_KEY"] = Canary.serverAPIKey }
        for app in apps + consumers { environment["SECRET_\(app)"] = Canary.appSecret(of: app) }
        return environment
    }

    /// Runs a command of `federation` on a file with this text.
    ///
    /// - Returns: The ended process.
    static func run(_ command: String, _ text: String, environment: [String: String] = [:]) async throws
        -> ManagedProcess
    {
        try await withFile(text) { try await runFederation([command, $0], environment: environment) }
    }

    /// Calls a closure with the path of a temporary file with this text.
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
