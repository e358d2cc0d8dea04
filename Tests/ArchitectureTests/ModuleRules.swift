/// Which module may import what: the arrows of docs/architecture.md, in writing.
///
/// SwiftPM does not hold anybody to them: it lets a source import whatever a dependency of a dependency brings along.
enum ModuleRules {
    /// Everything that the sources of a module may import: modules of ours, libraries, and the system's.
    static let allowed: [String: Set<String>] = [
        "EmbeddedFiles": ["CEmbeddedFiles"],
        "Vocabulary": ["FoundationEssentials", "Swift"],
        "Limiting": ["DequeModule", "NIOConcurrencyHelpers", "Vocabulary"],
        "Mapping": ["Vocabulary"],
        "Import": ["Crypto", "FoundationEssentials", "Mapping", "Vocabulary"],
        "SignedTokens": [
            "Crypto", "CryptoExtras", "FoundationEssentials", "Logging", "NIOConcurrencyHelpers", "Vocabulary",
        ],
        "WebAuthn": ["Crypto", "CryptoExtras", "Vocabulary"],
        "Providers": ["Mapping", "Vocabulary"],
        "Curl": ["CLibCurl", "Glibc", "NIOConcurrencyHelpers", "Synchronization"],
        "Postgres": ["CLibPQ", "FoundationEssentials", "Glibc", "NIOConcurrencyHelpers"],
        "Upstream": ["Curl", "Logging", "Metrics", "NIOConcurrencyHelpers", "Providers", "Tracing", "Vocabulary"],
        "Facebook": provider.union(["Metrics", "SignedTokens"]),
        "Twitter": provider,
        "Passwords": [
            "CArgon2", "CCrypt", "Crypto", "CryptoExtras", "EmbeddedFiles", "Glibc", "Limiting",
            "NIOConcurrencyHelpers", "Swift",
            "Vocabulary",
        ],
        "OneTimeCodes": ["CQREncode", "Crypto", "Vocabulary"],
        "Mailing": ["Curl", "FoundationEssentials", "Vocabulary"],
        "Texting": ["Crypto", "Curl", "FoundationEssentials", "Vocabulary"],
        "Store": [
            "EmbeddedFiles", "FoundationEssentials", "NIOConcurrencyHelpers", "Postgres", "Tracing", "Vocabulary",
        ],
        "Secrets": ["Crypto", "FoundationEssentials", "Store", "Vocabulary"],
        "Applications": [
            "Crypto", "FoundationEssentials", "Limiting", "Logging", "Mapping", "NIOConcurrencyHelpers", "Providers",
            "Secrets", "Store", "Vocabulary",
        ],
        "KeptTokens": useCases.union(["Mapping", "Providers"]),
        "Notifications": useCases.union(["Limiting", "Mailing", "Metrics"]),
        "Factors": useCases.union([
            "Crypto", "FoundationEssentials", "Mailing", "Notifications", "OneTimeCodes", "Texting", "WebAuthn",
        ]),
        "Logins": useCases.union([
            "Crypto", "Factors", "FoundationEssentials", "KeptTokens", "Limiting", "Mailing", "Mapping", "Metrics",
            "NIOConcurrencyHelpers", "Notifications", "Providers", "SignedTokens", "Tracing",
        ]),
        "Accounts": useCases.union([
            "Deletions", "Factors", "KeptTokens", "Limiting", "Logins", "Mailing", "Mapping", "NIOConcurrencyHelpers",
            "Notifications", "Passwords",
        ]),
        "Deletions": useCases.union(["KeptTokens", "Providers"]),
        "Callbacks": useCases.union(["Deletions", "KeptTokens", "Providers"]),
        "Maintenance": useCases.union([
            "Deletions", "FoundationEssentials", "KeptTokens", "Metrics", "NIOConcurrencyHelpers", "Providers",
        ]),
        "Administration": useCases.union([
            "Accounts", "Deletions", "Factors", "FoundationEssentials", "Import", "KeptTokens", "Mailing", "Mapping",
            "NIOConcurrencyHelpers", "Notifications", "Observability", "Passwords", "Providers", "Texting",
        ]),
        "Federation": useCases.union([
            "Accounts", "Callbacks", "Deletions", "Factors", "KeptTokens", "Limiting", "Logins", "Mailing",
            "Notifications", "Passwords", "Texting",
        ]),
        "HTTP": [
            "Crypto", "FoundationEssentials", "Glibc", "HTTPTypes", "Hummingbird", "HummingbirdCore", "Limiting",
            "Logging",
            "Metrics", "NIOConcurrencyHelpers", "NIOCore", "NIOHPACK", "NIOHTTP1", "NIOHTTP2", "NIOHTTPTypes",
            "NIOHTTPTypesHTTP1",
            "NIOHTTPTypesHTTP2", "NIOSSL", "NIOTLS", "Tracing", "Vocabulary",
        ],
        "Backendless": clientProtocol,
        "API": [
            "Accounts", "Administration", "Applications", "EmbeddedFiles", "Factors", "Federation", "HTTP", "HTTPTypes",
            "Hummingbird", "Limiting", "Logging", "Logins", "NIOConcurrencyHelpers", "NIOCore", "Notifications",
            "Providers", "Secrets", "Vocabulary",
        ],
        "Console": [
            "API", "Crypto", "FoundationEssentials", "HTTP", "HTTPTypes", "Hummingbird", "NIOCore", "Vocabulary",
        ],
        "Observability": [
            "Curl", "Dispatch", "Glibc", "Logging", "Metrics", "NIOConcurrencyHelpers", "Synchronization", "Tracing",
            "Vocabulary",
        ],
        "Server": service.union([
            "ArgumentParser", "CMalloc", "Configuration", "FoundationEssentials", "Glibc", "Hummingbird",
            "HummingbirdCore",
            "Logging", "Metrics", "NIOConcurrencyHelpers", "NIOCore", "NIOPosix", "ServiceLifecycle",
            "Tracing", "UnixSignals",
        ]),
        "GraphSimulator": [
            "CZlib", "Crypto", "CryptoExtras", "FoundationEssentials", "Glibc", "NIOConcurrencyHelpers", "NIOCore",
            "NIOHTTP1",
            "NIOPosix",
        ],
        "graph-simulator": [
            "ArgumentParser", "FoundationEssentials", "Glibc", "GraphSimulator", "Logging", "ServiceLifecycle",
            "UnixSignals",
        ],
        "Benchmarks": [
            "Administration", "ArgumentParser", "Crypto", "CryptoExtras", "Curl", "Facebook", "Foundation",
            "FoundationEssentials", "Glibc", "HTTP", "HTTPTypes", "Histogram", "Hummingbird", "Logging", "Mapping",
            "NIOConcurrencyHelpers", "NIOCore", "OneTimeCodes", "Postgres", "Providers", "Secrets", "SignedTokens",
            "Store", "TestSupport", "Upstream", "Vocabulary",
        ],
        "TestSupport": [
            "CLibPQ", "Crypto", "CryptoExtras", "FoundationEssentials", "Glibc", "NIOConcurrencyHelpers", "NIOCore",
            "NIOHTTP1", "NIOPosix",
        ],
    ]

    /// What the room of a provider may import: nothing above it, and no other provider.
    static let provider: Set<String> = [
        "Crypto", "Curl", "FoundationEssentials", "Mapping", "NIOConcurrencyHelpers", "Providers", "Upstream",
        "Vocabulary",
    ]

    /// What every module of use cases may import.
    static let useCases: Set<String> = ["Applications", "Logging", "Secrets", "Store", "Vocabulary"]

    /// What the room of a protocol of clients may import: nothing above it, and no other protocol.
    static let clientProtocol: Set<String> = [
        "Accounts", "Applications", "Callbacks", "EmbeddedFiles", "Factors", "Federation", "HTTP", "HTTPTypes",
        "Hummingbird", "KeptTokens", "Limiting", "Logins", "Notifications", "Providers", "Vocabulary",
    ]

    /// The rooms of protocols of clients.
    static let clientProtocols: Set<String> = ["Backendless"]

    /// The rooms of kinds of providers.
    static let providerKinds: Set<String> = ["Facebook", "Twitter"]

    /// The modules of the service, without the executable that wires them.
    static let service: Set<String> = [
        "API", "Accounts", "Administration", "Applications", "Backendless", "Callbacks", "Console", "Curl", "Deletions",
        "EmbeddedFiles", "Facebook", "Factors", "Federation", "HTTP", "Import", "KeptTokens", "Limiting", "Logins",
        "Mailing",
        "Maintenance", "Mapping", "Notifications", "Observability", "OneTimeCodes", "Passwords", "Postgres",
        "Providers", "Secrets", "SignedTokens", "Store", "Texting", "Twitter", "Upstream", "Vocabulary", "WebAuthn",
    ]

    /// The modules whose functions depend on nothing but their arguments.
    static let pure: Set<String> = ["Vocabulary", "Mapping", "Import", "OneTimeCodes", "Providers", "WebAuthn"]

    /// The modules that know no word of the domain.
    static let drivers: Set<String> = ["Curl", "Postgres"]

    /// The modules that stand beside the service and that nothing of it may know.
    static let aside: Set<String> = ["Benchmarks", "GraphSimulator", "graph-simulator", "TestSupport"]

    static let ours = service.union(aside).union(["Server"])

    /// What a source of a module imports against the rules, each finding as a line for the reader of the test.
    static func violations(of module: String, path: String, source: SwiftText) -> [String] {
        guard let allowed = allowed[module] else {
            return ["\(path): the module \(module) has no line in ModuleRules.allowed; say what it may import"]
        }
        return ImportStatement.all(in: source).flatMap { statement in
            let place = "\(path):\(statement.line)"
            var findings: [String] = []
            if !allowed.contains(statement.module) {
                findings.append("\(place): \(module) must not import \(statement.module)")
            }
            // The first opens what a module keeps to itself, the second hands an arrow on to whoever imports the
            // module.
            for attribute in statement.attributes where ["testable", "_exported"].contains(attribute) {
                findings.append("\(place): @\(attribute) has no place in Sources")
            }
            return findings
        }
    }
}
