/// The rules of which module may import which.
///
/// `Package.swift` declares the dependencies. SwiftPM does not enforce them: a source can import any dependency of a
/// dependency. So a test checks each import against `Package.swift`, and the dependencies against the rules below.
enum ModuleRules {
    /// The modules of the service from the bottom up.
    ///
    /// A module imports only modules that come before it.
    static let order = [
        "EmbeddedFiles", "Curl", "Postgres",
        "Encodings", "Description", "Domain",
        "Limiting", "Mapping", "Import", "SignedTokens", "WebAuthn", "OneTimeCodes", "Passwords",
        "Providers", "AuthorizationServers", "Facebook", "Twitter", "OpenID", "OAuth2", "FormerSystems",
        "Store", "Secrets", "Applications", "Messaging",
        "Factors", "Logins", "Accounts", "Maintenance", "Observability", "Administration",
        "HTTP", "Pages", "PublicAPI", "Backendless", "Firebase", "AdministrationAPI", "Console",
        "Server",
    ]

    /// The modules of the service, without the executable that wires them.
    static let service = Set(order).subtracting(["Server"])

    /// The modules that know nothing of the domain.
    static let drivers: Set<String> = ["Curl", "Postgres"]

    /// The modules whose functions depend on nothing but their arguments.
    static let pure: Set<String> = [
        "Encodings", "Description", "Domain", "Mapping", "Import", "OneTimeCodes", "WebAuthn",
    ]

    /// The modules that a pure module may import: values and functions of values, no system, no network, no log.
    static let harmless: Set<String> = ["CQREncode", "Crypto", "CryptoExtras", "FoundationEssentials", "Swift"]

    /// The modules of single client protocols, and below them those of single provider kinds.
    ///
    /// Only `Server`, which wires them, may import them.
    static let clientProtocols: Set<String> = ["Backendless", "Firebase"]
    static let providerKinds: Set<String> = ["Facebook", "Twitter", "OpenID", "OAuth2"]

    /// The modules that serve HTTP requests.
    ///
    /// They reach the database and the servers of others only through use cases.
    static let listening: Set<String> = [
        "HTTP", "Pages", "PublicAPI", "Backendless", "Firebase", "AdministrationAPI", "Console",
    ]
    static let outgoing: Set<String> = ["CLibCurl", "CLibPQ", "Curl", "Postgres", "Store"]

    /// The modules beside the service, which no module of the service may import.
    static let aside: Set<String> = ["Benchmarks", "GraphSimulator", "graph-simulator", "TestSupport"]

    /// Modules of the toolchain that every module may import, except the pure ones.
    ///
    /// Full Foundation is excluded: it would load its tables of locales into the process.
    static let system: Set<String> = ["Dispatch", "FoundationEssentials", "Glibc", "Swift", "Synchronization"]

    /// Returns why an import or a dependency is against the rules; nil when it is allowed.
    static func objection(to imported: String, by module: String) -> String? {
        if pure.contains(module), !pure.contains(imported), !harmless.contains(imported) { return "is no value" }
        if drivers.contains(module), order.contains(imported) { return "knows the service" }
        if listening.contains(module), outgoing.contains(imported) { return "is reached by a use case" }
        if module != "Server", order.contains(module), clientProtocols.union(providerKinds).contains(imported) {
            return "is a room, which Server alone knows"
        }
        guard let place = order.firstIndex(of: module) else { return nil }
        if aside.contains(imported) { return "stands beside the service" }
        if imported == "Foundation" { return "brings its locales into the process" }
        if let other = order.firstIndex(of: imported), other >= place { return "stands above" }
        return nil
    }

    /// Returns the imports of a source that are against the rules, one line for each.
    static func violations(
        of module: String,
        path: String,
        source: SwiftText,
        manifest: [String: Set<String>] = Manifest.dependencies
    ) -> [String] {
        guard let declared = manifest[module] else {
            return ["\(path): Package.swift has no target \(module)"]
        }
        return ImportStatement.all(in: source).flatMap { statement in
            let place = "\(path):\(statement.line)"
            var findings: [String] = []
            if let objection = objection(to: statement.module, by: module) {
                findings.append("\(place): \(module) must not import \(statement.module), which \(objection)")
            } else if !declared.union(system).contains(statement.module), statement.module != "Foundation" {
                findings.append("\(place): \(statement.module) is no dependency of \(module) in Package.swift")
            }
            // `@testable` exposes the internals of a module; `@_exported` passes a dependency on to every importer.
            for attribute in statement.attributes where ["testable", "_exported"].contains(attribute) {
                findings.append("\(place): @\(attribute) has no place in Sources")
            }
            return findings
        }
    }
}
