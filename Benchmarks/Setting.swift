import Curl
import Domain
import Facebook
import Foundation
import Logging
import Providers
import Secrets
import SignedTokens

/// The settings that scripts/benchmark passes in the environment.
struct Setting {
    /// Returns the provider kinds that read the document; they send no request.
    static func kinds() throws -> ProviderKinds {
        let parts = UpstreamParts(
            curl: try CurlClient(configuration: CurlConfiguration()),
            clock: .system,
            random: .system,
            logger: Logger(label: "benchmarks")
        )
        var settings = NoSettings()
        return ProviderKinds([FacebookKind.setup(&settings)].compactMap { $0?.kind(parts) })
    }

    /// A PostgreSQL server: the URL of its superuser, and its process id.
    struct Server {
        let url: String
        let pid: Int32
    }

    private(set) var databaseURL: String
    /// An ordinary server, optionally followed by a coordinator of Citus and its workers.
    let servers: [Server]
    let graphURL: String
    let graphPort: Int
    /// The URL at which the simulator publishes the keys of ID tokens.
    var keysURL: String { graphURL + "/.well-known/oauth/openid/jwks/" }
    let controlPort: Int

    /// The application of every login, and its key and secret; they exist in this benchmark only.
    static let application = "benchmark"
    static let apiKey = "benchmark-key-0123456789"
    static let appID = "1234567890"
    static let appSecret = "8d1f0c5a7b3e4f629a0d5c8e7b16f243"

    /// A document with ten mapping entries as operators write them, with all sync modes among them.
    static let document = """
        {"application": "benchmark", "keys": [{"label": "benchmark", "key": {"env": "BENCHMARK_API_KEY"}}],
         "providers": {"facebook": {"apps": [{"appId": "1234567890", "appSecret": {"env": "BENCHMARK_APP_SECRET"}}]}},
         "properties": {"givenName": {"type": "STRING", "clientMappable": true}, "familyName": {"type": "STRING"},
           "avatar": {"type": "TEXT", "clientMappable": true}, "birthday": {"type": "DATE"},
           "ageFrom": {"type": "INT"}, "city": {"type": "STRING"}, "gender": {"type": "STRING"}, "greeting": {"type": "STRING"}},
         "mapping": {"facebook": [{"from": "email", "to": "email"}, {"from": "name", "to": "name", "sync": "untilEdited"},
           {"from": "last_name", "to": "familyName", "sync": "ifEmpty"},
           {"from": "birthday", "to": "birthday", "sync": "firstLogin"}, {"from": "age_range.min", "to": "ageFrom"},
           {"from": "location.name", "to": "city"}, {"from": "gender", "to": "gender", "transform": "lowercase"},
           {"from": "Hello {first_name} {last_name}", "to": "greeting"}]}}
        """

    /// The mapping that every client sends with its token.
    static let clientMapping = #"{"first_name":"givenName","picture.data.url":"avatar","email":"email"}"#

    /// Returns the document with a provider for a simulated issuer of OpenID Connect, whose mapping is as long.
    func documentWithIssuer() -> String {
        Self.document.replacing(
            #""providers": {"#,
            with: #"""
                "providers": {"staff": {"kind": "oidc", "issuer": "\#(graphURL)/oidc/staff",
                  "apps": [{"clientId": "web", "clientSecret": {"env": "BENCHMARK_APP_SECRET"}}]},
                """#
        ).replacing(
            #""mapping": {"#,
            with: #"""
                "mapping": {"staff": [{"from": "email", "to": "email"},
                  {"from": "name", "to": "name", "sync": "untilEdited"},
                  {"from": "family_name", "to": "familyName", "sync": "ifEmpty"},
                  {"from": "birthdate", "to": "birthday", "sync": "firstLogin"}, {"from": "age_range.min", "to": "ageFrom"},
                  {"from": "location.name", "to": "city"}, {"from": "gender", "to": "gender", "transform": "lowercase"},
                  {"from": "Hello {given_name} {family_name}", "to": "greeting"}],
                """#
        )
    }

    /// The mapping that a client sends with an ID token of the simulated issuer.
    static let issuerMapping = #"{"given_name":"givenName","picture":"avatar","email":"email"}"#

    /// Returns the document of one of many applications, which differ only in their ids.
    static func document(of application: String) -> String {
        document.replacing(
            #"{"application": "\#(Self.application)","#,
            with: #"{"application": "\#(application)","#
        )
    }

    /// Returns the same settings with another database of the cluster.
    func with(database: String) -> Setting {
        var components = URLComponents(string: databaseURL)
        components?.path = "/" + database
        return with(databaseURL: components?.string ?? databaseURL)
    }

    /// Returns the same settings with a database anywhere.
    func with(databaseURL: String) -> Setting {
        var setting = self
        setting.databaseURL = databaseURL
        return setting
    }

    /// Reads the settings from the environment.
    init() throws {
        let environment = ProcessInfo.processInfo.environment
        func value(_ name: String) throws -> String {
            guard let value = environment[name] else { throw MissingSetting(name: name) }
            return value
        }
        func port(_ url: String) throws -> Int {
            guard let port = URLComponents(string: url)?.port else { throw MissingSetting(name: "a port in \(url)") }
            return port
        }
        let urls = try value("FEDERATION_BENCHMARK_DATABASE_URLS").split(separator: ",").map(String.init)
        let pids = try value("FEDERATION_BENCHMARK_DATABASE_PIDS").split(separator: ",").compactMap { Int32($0) }
        servers = zip(urls, pids).map(Server.init)
        guard let url = urls.first, urls.count == pids.count else { throw MissingSetting(name: "a server") }
        databaseURL = url
        graphURL = try value("FEDERATION_BENCHMARK_GRAPH_URL")
        graphPort = try port(graphURL)
        controlPort = try port(try value("FEDERATION_BENCHMARK_CONTROL_URL"))
    }
}

struct MissingSetting: Error, CustomStringConvertible {
    let name: String
    var description: String { "\(name) is missing; call scripts/benchmark" }
}
