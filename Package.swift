// swift-tools-version: 6.2
import PackageDescription

// The modules and their arrows are those of docs/architecture.md; Tests/ArchitectureTests holds the imports to them.

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let collections = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let histogram = Target.Dependency.product(name: "Histogram", package: "hdrhistogram-swift")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP1 = Target.Dependency.product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let nioHTTPTypesHTTP2 = Target.Dependency.product(name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioLocks = Target.Dependency.product(name: "NIOConcurrencyHelpers", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")

/// What scripts/benchmark sets: the program that measures is built, which tests and service do without.
let isMeasuring = Context.environment["FEDERATION_BENCHMARKS"] != nil
/// What scripts/fuzz sets: the library of Tests/Fuzz becomes a program, whose main function is libFuzzer's.
let isFuzzing = Context.environment["FEDERATION_FUZZING"] != nil
/// Unlike what is attacked it is not optimized: Swift 6.3 ends with "circular reference" when it inlines what was
/// opened with @testable.
let fuzzing = strict + [.unsafeFlags(["-Onone"])]
let fuzzed: [Target.Dependency] = [
    "Administration", "Backendless", "Curl", "Facebook", "HTTP", "Mapping", "Postgres", "Providers", "Secrets",
    "SignedTokens", "Store", "Twitter", "Vocabulary", "WebAuthn", crypto, cryptoExtras, logging, nioCore,
]

let package = Package(
    name: "federation",
    products: [
        .executable(name: "federation", targets: ["Server"]),
        .executable(name: "graph-simulator", targets: ["graph-simulator"]),
        .library(name: "GraphSimulator", targets: ["GraphSimulator"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        // 2.100.0 caps the number of header fields; older ones let 70,000 of them crash the process (CVE-2026-28980).
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.1"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // The service.
        .systemLibrary(
            name: "CLibPQ",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]
        ),
        .systemLibrary(
            name: "CLibCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]
        ),
        .systemLibrary(
            name: "CArgon2",
            pkgConfig: "libargon2",
            providers: [.apt(["libargon2-dev"]), .brew(["argon2"])]
        ),
        .systemLibrary(
            name: "CCrypt",
            pkgConfig: "libxcrypt",
            providers: [.apt(["libcrypt-dev"]), .brew(["libxcrypt"])]
        ),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(
            name: "CQREncode",
            pkgConfig: "libqrencode",
            providers: [.apt(["libqrencode-dev"]), .brew(["qrencode"])]
        ),
        .target(name: "CEmbeddedFiles"),
        .target(name: "EmbeddedFiles", dependencies: ["CEmbeddedFiles"], swiftSettings: strict),
        .target(name: "Vocabulary", swiftSettings: strict),
        .target(name: "Limiting", dependencies: ["Vocabulary", collections, nioLocks], swiftSettings: strict),
        .target(name: "Mapping", dependencies: ["Vocabulary"], swiftSettings: strict),
        .target(name: "Import", dependencies: ["Mapping", "Vocabulary", crypto], swiftSettings: strict),
        .target(
            name: "SignedTokens",
            dependencies: ["Vocabulary", crypto, cryptoExtras, logging, nioLocks],
            swiftSettings: strict
        ),
        .target(name: "WebAuthn", dependencies: ["Vocabulary", crypto, cryptoExtras], swiftSettings: strict),
        .target(name: "Providers", dependencies: ["Mapping", "Vocabulary"], swiftSettings: strict),
        .target(name: "Curl", dependencies: ["CLibCurl", nioLocks], swiftSettings: strict),
        .target(name: "Postgres", dependencies: ["CLibPQ", nioLocks], swiftSettings: strict),
        .target(
            name: "Upstream",
            dependencies: ["Curl", "Providers", "Vocabulary", logging, metrics, nioLocks, tracing],
            swiftSettings: strict
        ),
        .target(
            name: "Facebook",
            dependencies: [
                "Curl", "Mapping", "Providers", "SignedTokens", "Upstream", "Vocabulary", crypto, metrics, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Twitter",
            dependencies: ["Curl", "Mapping", "Providers", "Upstream", "Vocabulary", crypto, nioLocks],
            swiftSettings: strict
        ),
        .target(
            name: "Passwords",
            dependencies: [
                "CArgon2", "CCrypt", "EmbeddedFiles", "Limiting", "Vocabulary", crypto, cryptoExtras, nioLocks,
            ],
            exclude: ["common-passwords.txt"],
            swiftSettings: strict
        ),
        .target(name: "OneTimeCodes", dependencies: ["CQREncode", "Vocabulary", crypto], swiftSettings: strict),
        .target(
            name: "Mailing",
            dependencies: ["Curl", "Vocabulary"],
            resources: [.embedInCode("templates")],
            swiftSettings: strict
        ),
        .target(name: "Texting", dependencies: ["Curl", "Vocabulary", crypto], swiftSettings: strict),
        .target(
            name: "Store",
            dependencies: ["EmbeddedFiles", "Vocabulary", "Postgres", nioLocks, tracing],
            swiftSettings: strict
        ),
        .target(name: "Secrets", dependencies: ["Store", "Vocabulary", crypto], swiftSettings: strict),
        .target(
            name: "Applications",
            dependencies: [
                "Limiting", "Mapping", "Providers", "Secrets", "Store", "Vocabulary", crypto, logging, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "KeptTokens",
            dependencies: ["Applications", "Mapping", "Providers", "Secrets", "Store", "Vocabulary"],
            swiftSettings: strict
        ),
        .target(
            name: "Notifications",
            dependencies: ["Applications", "Limiting", "Mailing", "Secrets", "Store", "Vocabulary", logging, metrics],
            swiftSettings: strict
        ),
        .target(
            name: "Factors",
            dependencies: [
                "Applications", "Mailing", "Notifications", "OneTimeCodes", "Secrets", "Store", "Texting",
                "Vocabulary", "WebAuthn", crypto,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Logins",
            dependencies: [
                "Applications", "Factors", "KeptTokens", "Limiting", "Notifications", "Mailing", "Mapping", "Providers",
                "Secrets", "SignedTokens", "Store", "Vocabulary", crypto, logging, metrics, nioLocks, tracing,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Accounts",
            dependencies: [
                "Applications", "Deletions", "KeptTokens", "Limiting", "Logins", "Notifications", "Mailing", "Mapping",
                "Passwords", "Secrets",
                "Store",
                "Vocabulary", logging, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Deletions",
            dependencies: ["Applications", "KeptTokens", "Providers", "Secrets", "Store", "Vocabulary", logging],
            swiftSettings: strict
        ),
        .target(
            name: "Callbacks",
            dependencies: [
                "Applications", "Deletions", "KeptTokens", "Providers", "Secrets", "Store", "Vocabulary", logging,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Maintenance",
            dependencies: [
                "Applications", "Deletions", "KeptTokens", "Providers", "Secrets", "Store", "Vocabulary", logging,
                metrics, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Administration",
            dependencies: [
                "Accounts", "Applications", "Deletions", "Factors", "Import", "KeptTokens", "Mailing", "Mapping",
                "Notifications", "Observability", "Passwords", "Providers", "Secrets", "Store", "Texting", "Vocabulary",
                crypto, logging,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Federation",
            dependencies: [
                "Accounts", "Applications", "Callbacks", "Deletions", "Factors", "KeptTokens", "Limiting", "Logins",
                "Notifications", "Mailing", "Passwords", "Secrets", "Store", "Texting", "Vocabulary", logging,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "HTTP",
            dependencies: [
                "Limiting", "Vocabulary", crypto, httpTypes, hummingbird, logging, metrics, nioCore, nioHPACK,
                nioHTTP1, nioHTTP2,
                nioHTTPTypes, nioHTTPTypesHTTP1, nioHTTPTypesHTTP2, nioLocks, nioSSL, nioTLS, tracing,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Backendless",
            dependencies: [
                "Accounts", "Applications", "Callbacks", "EmbeddedFiles", "Factors", "Federation", "HTTP", "KeptTokens",
                "Limiting", "Logins", "Notifications", "Providers", "Vocabulary", httpTypes, hummingbird,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "API",
            dependencies: [
                "Accounts", "Administration", "Applications", "EmbeddedFiles", "Factors", "Federation", "HTTP",
                "Limiting", "Logins", "Notifications", "Providers", "Secrets", "Vocabulary", httpTypes, hummingbird,
                logging, nioCore, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Console",
            dependencies: ["API", "HTTP", "Vocabulary", crypto, httpTypes, hummingbird, nioCore],
            resources: [
                .embedInCode("Assets/console.css"), .embedInCode("Assets/console.js"),
                .embedInCode("Assets/logins.js"), .embedInCode("Assets/mapping.js"),
                .embedInCode("Assets/passkeys.js"), .embedInCode("Assets/people.js"),
                .embedInCode("Assets/files.js"), .embedInCode("Assets/icon.svg"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Observability",
            dependencies: ["Curl", "Vocabulary", logging, metrics, nioLocks, tracing],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "Server",
            dependencies: [
                "API", "Administration", "Applications", "Backendless", "CMalloc", "Console", "Curl", "Facebook",
                "Federation", "HTTP", "Import", "KeptTokens", "Limiting", "Logins", "Mailing", "Maintenance", "Mapping",
                "Notifications",
                "Observability",
                "Passwords",
                "Postgres",
                "Providers", "Secrets", "SignedTokens", "Store", "Texting", "Twitter", "Upstream", "Vocabulary",
                argumentParser,
                configuration,
                hummingbird, logging, metrics, nioCore, nioLocks, nioPosix, serviceLifecycle, tracing, unixSignals,
            ],
            swiftSettings: strict
        ),

        // Beside the service, which knows none of these.
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "GraphSimulator",
            dependencies: ["CZlib", crypto, cryptoExtras, nioCore, nioHTTP1, nioLocks, nioPosix],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "graph-simulator",
            dependencies: ["GraphSimulator", argumentParser, logging, serviceLifecycle, unixSignals],
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: ["CLibPQ", crypto, cryptoExtras, nioCore, nioHTTP1, nioLocks, nioPosix],
            swiftSettings: strict
        ),

        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
        .testTarget(
            name: "APITests",
            dependencies: [
                "API", "Administration", "Applications", "Backendless", "Curl", "EmbeddedFiles", "Facebook",
                "Federation",
                "HTTP", "Mapping",
                "Postgres", "Providers", "Secrets", "Server", "Store", "TestSupport", "Upstream",
                "Vocabulary",
                argumentParser, httpTypes, hummingbird, logging, nioCore, nioEmbedded, nioHTTP1, nioHTTPTypes,
                serviceLifecycle,
            ],
            swiftSettings: strict
        ),
        isFuzzing
            ? .executableTarget(name: "Fuzz", dependencies: fuzzed, path: "Tests/Fuzz", swiftSettings: fuzzing)
            : .target(name: "Fuzz", dependencies: fuzzed, path: "Tests/Fuzz", swiftSettings: strict),
        .testTarget(
            name: "FuzzTests",
            dependencies: ["Fuzz", "TestSupport"],
            exclude: ["Corpus"],
            swiftSettings: strict
        ),
        .testTarget(name: "VocabularyTests", dependencies: ["Vocabulary"], swiftSettings: strict),
        .testTarget(
            name: "LimitingTests",
            dependencies: ["Limiting", "TestSupport", "Vocabulary", nioLocks],
            swiftSettings: strict
        ),
        .testTarget(name: "MappingTests", dependencies: ["Facebook", "Mapping", "Vocabulary"], swiftSettings: strict),
        .testTarget(
            name: "ImportTests",
            dependencies: ["Import", "Mapping", "Vocabulary"],
            exclude: ["Exports"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SignedTokensTests",
            dependencies: [
                "SignedTokens", "Vocabulary", crypto, cryptoExtras,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "WebAuthnTests",
            dependencies: ["TestSupport", "Vocabulary", "WebAuthn", crypto, cryptoExtras],
            exclude: ["Vectors"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ObservabilityTests",
            dependencies: ["Curl", "Observability", "Vocabulary", logging, metrics, tracing],
            swiftSettings: strict
        ),
        .testTarget(name: "PasswordsTests", dependencies: ["Vocabulary", "Passwords"], swiftSettings: strict),
        .testTarget(
            name: "OneTimeCodesTests",
            dependencies: ["OneTimeCodes", "TestSupport", "Vocabulary", crypto],
            swiftSettings: strict
        ),
        .testTarget(name: "CurlTests", dependencies: ["Curl", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "MailingTests",
            dependencies: ["Vocabulary", "Mailing", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TextingTests",
            dependencies: ["Curl", "GraphSimulator", "Texting", "Vocabulary", crypto],
            swiftSettings: strict
        ),
        .testTarget(name: "PostgresTests", dependencies: ["Postgres", nioLocks], swiftSettings: strict),
        .testTarget(
            name: "FacebookTests",
            dependencies: [
                "Curl", "Facebook", "GraphSimulator", "Mapping", "Providers", "SignedTokens", "Upstream", "Vocabulary",
                crypto, cryptoExtras, nioLocks,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TwitterTests",
            dependencies: [
                "Curl", "GraphSimulator", "Mapping", "TestSupport", "Twitter", "Upstream", "Vocabulary", nioLocks,
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "UpstreamTests", dependencies: ["Vocabulary", "Upstream"], swiftSettings: strict),
        .testTarget(
            name: "GraphSimulatorTests",
            dependencies: [
                "CZlib", "GraphSimulator", "TestSupport", "graph-simulator", crypto, cryptoExtras, nioCore, nioLocks,
                nioPosix,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FederationTests",
            dependencies: [
                "Accounts", "Administration", "Applications", "Callbacks", "Curl", "Facebook", "Federation", "Import",
                "KeptTokens", "Logins",
                "Mailing", "Mapping", "Notifications", "Passwords", "Postgres", "Providers", "Secrets", "SignedTokens",
                "Store",
                "TestSupport", "Twitter", "Vocabulary",
                logging, nioLocks,
            ],
            swiftSettings: strict
        ),
        // Both targets open it with @testable; it has no other users.
        .target(
            name: "ServerTestSupport",
            dependencies: ["Vocabulary", "TestSupport"],
            path: "Tests/ServerTestSupport",
            swiftSettings: strict
        ),
        // The executables are dependencies so that they lie beside the tests, which start them.
        .testTarget(
            name: "ServerTests",
            dependencies: [
                "Server", "ServerTestSupport", "TestSupport", "Vocabulary", "graph-simulator", argumentParser, crypto,
                nioCore,
                nioLocks,
                nioPosix, nioSSL,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FaultTests",
            dependencies: ["Server", "ServerTestSupport", "TestSupport", "Vocabulary", "graph-simulator", crypto],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StoreTests",
            dependencies: ["Vocabulary", "Postgres", "Store", "TestSupport"],
            exclude: ["Golden", "Schemas"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TestSupportTests",
            dependencies: ["TestSupport", nioCore, nioLocks, nioPosix],
            swiftSettings: strict
        ),
    ]
)

if isMeasuring {
    package.dependencies.append(.package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"))
    package.products.append(.executable(name: "benchmarks", targets: ["Benchmarks"]))
    package.targets.append(
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "Administration", "Curl", "Facebook", "Federation", "HTTP", "Mapping", "OneTimeCodes", "Postgres",
                "Providers", "Secrets", "SignedTokens", "Store", "TestSupport", "Upstream", "Vocabulary",
                argumentParser, crypto, cryptoExtras, histogram, httpTypes, hummingbird, logging, nioCore, nioLocks,
            ],
            path: "Benchmarks",
            swiftSettings: strict
        )
    )
}
