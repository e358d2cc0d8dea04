// swift-tools-version: 6.2
import PackageDescription

// The modules and their arrows are those of docs/architecture.md; Tests/ArchitectureTests holds the imports to them.

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
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
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")

/// What scripts/benchmark sets: the program that measures is built, which tests and service do without.
let isMeasuring = Context.environment["FEDERATION_BENCHMARKS"] != nil
/// What scripts/fuzz sets: the library of Tests/Fuzz becomes a program, whose main function is libFuzzer's.
let isFuzzing = Context.environment["FEDERATION_FUZZING"] != nil
/// Unlike what is attacked it is not optimized: Swift 6.3 ends with "circular reference" when it inlines what was
/// opened with @testable.
let fuzzing = strict + [.unsafeFlags(["-Onone"])]
let fuzzed: [Target.Dependency] = [
    "Administration", "Backendless", "Curl", "Facebook", "HTTP", "Mapping", "Postgres", "Providers", "Secrets",
    "SignedTokens", "Store", "Twitter", "WebAuthn", "Domain", "Description", "Encodings", crypto, cryptoExtras, logging,
    nioCore,
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
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
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
        .target(name: "Encodings", swiftSettings: strict),
        .target(name: "Description", dependencies: ["Encodings"], swiftSettings: strict),
        .target(name: "Domain", dependencies: ["Description", "Encodings"], swiftSettings: strict),
        .target(
            name: "Limiting",
            dependencies: ["Domain", "Encodings", collections, nioLocks],
            swiftSettings: strict
        ),
        .target(name: "Mapping", dependencies: ["Description", "Domain", "Encodings"], swiftSettings: strict),
        .target(
            name: "Import",
            dependencies: ["Domain", "Encodings", "Mapping", crypto],
            swiftSettings: strict
        ),
        .target(
            name: "SignedTokens",
            dependencies: [
                "Domain", "Encodings", crypto, cryptoExtras, logging, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "WebAuthn",
            dependencies: ["Encodings", crypto, cryptoExtras],
            swiftSettings: strict
        ),
        .target(
            name: "Providers",
            dependencies: [
                "Curl", "Description", "Domain", "Encodings", "Mapping", logging, metrics, nioLocks, tracing,
            ],
            swiftSettings: strict
        ),
        .target(name: "Curl", dependencies: ["CLibCurl", nioLocks], swiftSettings: strict),
        .target(name: "Postgres", dependencies: ["CLibPQ", nioLocks], swiftSettings: strict),
        .target(
            name: "Facebook",
            dependencies: [
                "Curl", "Description", "Domain", "Encodings", "Mapping", "Providers", "SignedTokens", crypto,
                metrics, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Twitter",
            dependencies: [
                "Curl", "Description", "Domain", "Encodings", "Mapping", "Providers", crypto, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "AuthorizationServers",
            dependencies: ["Curl", "Description", "Domain", "Encodings", "Providers", crypto, nioLocks],
            swiftSettings: strict
        ),
        .target(
            name: "OAuth2",
            dependencies: [
                "AuthorizationServers", "Curl", "Description", "Domain", "Encodings", "Mapping", "Providers",
            ],
            resources: [.embedInCode("oauth2-presets.json")],
            swiftSettings: strict
        ),
        .target(
            name: "OpenID",
            dependencies: [
                "AuthorizationServers", "Curl", "Description", "Domain", "Encodings", "Mapping", "Providers",
                "SignedTokens", crypto, logging, nioLocks,
            ],
            resources: [.embedInCode("presets.json")],
            swiftSettings: strict
        ),
        .target(
            name: "FormerSystems",
            dependencies: ["Curl", "Domain", "Encodings", "Limiting", "Providers", logging, metrics, nioLocks],
            swiftSettings: strict
        ),
        .target(
            name: "Passwords",
            dependencies: [
                "CArgon2", "CCrypt", "Domain", "EmbeddedFiles", "Encodings", "Limiting", crypto, cryptoExtras,
                nioLocks,
            ],
            exclude: ["common-passwords.txt"],
            swiftSettings: strict
        ),
        .target(
            name: "OneTimeCodes",
            dependencies: ["CQREncode", "Domain", "Encodings", crypto],
            swiftSettings: strict
        ),
        .target(
            name: "Messaging",
            dependencies: [
                "Applications", "Curl", "Domain", "Encodings", "Limiting", "Secrets", "Store", crypto, logging,
                metrics,
            ],
            resources: [.embedInCode("Mails/templates")],
            swiftSettings: strict
        ),
        .target(
            name: "Store",
            dependencies: [
                "Domain", "EmbeddedFiles", "Encodings", "Postgres", nioLocks, tracing,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Secrets",
            dependencies: ["Domain", "Encodings", "Store", crypto],
            swiftSettings: strict
        ),
        .target(
            name: "Applications",
            dependencies: [
                "Description", "Domain", "Encodings", "Limiting", "Mapping", "Providers", "Secrets", "SignedTokens",
                "Store",
                asn1, crypto, cryptoExtras, logging, nioLocks, x509,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Factors",
            dependencies: [
                "Applications", "Domain", "Encodings", "Messaging", "OneTimeCodes", "Secrets", "Store", "WebAuthn",
                crypto,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Logins",
            dependencies: [
                "Applications", "Domain", "Encodings", "Factors", "Limiting", "Mapping", "Messaging", "Providers",
                "Secrets", "SignedTokens", "Store", crypto, logging, metrics, nioLocks, tracing,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Accounts",
            dependencies: [
                "Applications", "Domain", "Encodings", "Factors", "FormerSystems", "Limiting", "Logins", "Mapping",
                "Messaging", "Passwords", "Providers", "Secrets", "SignedTokens", "Store", logging, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Maintenance",
            dependencies: [
                "Accounts", "Applications", "Domain", "Logins", "Providers", "Secrets", "Store", logging, metrics,
                nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Administration",
            dependencies: [
                "Accounts", "Applications", "Description", "Domain", "Encodings", "Factors", "Import", "Limiting",
                "Logins", "Mapping", "Messaging", "Observability", "Passwords", "Providers", "Secrets", "Store",
                logging, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "HTTP",
            dependencies: [
                "Description", "Domain", "Encodings", "Limiting", httpTypes, hummingbird, logging, metrics,
                nioCore, nioHPACK, nioHTTP1, nioHTTP2, nioHTTPTypes, nioHTTPTypesHTTP1, nioHTTPTypesHTTP2,
                nioLocks, nioSSL, nioTLS, tracing,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Pages",
            dependencies: [
                "Accounts", "Applications", "Description", "Domain", "Encodings", "Factors", "HTTP", "Limiting",
                "Logins", "Messaging", "Providers", crypto, httpTypes, hummingbird, logging, nioCore,
            ],
            resources: [
                .embedInCode("Assets/page.css"), .embedInCode("Assets/passkey.js"),
                .embedInCode("Assets/handOver.js"), .embedInCode("Assets/lateHandOver.js"),
                .embedInCode("Assets/relay.js"), .embedInCode("Assets/relayFrame.js"),
                .embedInCode("Assets/en.txt"), .embedInCode("Assets/de.txt"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Backendless",
            dependencies: [
                "Accounts", "Applications", "Description", "Domain", "Encodings", "Factors", "HTTP", "Limiting",
                "Logins", "Providers", "PublicAPI", httpTypes, hummingbird,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Firebase",
            dependencies: [
                "Accounts", "Applications", "Description", "Domain", "Encodings", "Factors", "HTTP", "Limiting",
                "Logins", "Messaging", "Pages", "Passwords", "Providers", "PublicAPI", "Secrets", crypto, httpTypes,
                hummingbird,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "PublicAPI",
            dependencies: [
                "Accounts", "Applications", "Description", "Domain", "EmbeddedFiles", "Encodings", "HTTP", "Limiting",
                "Logins", "Messaging", "Pages", "Providers", "Secrets", httpTypes, hummingbird,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "AdministrationAPI",
            dependencies: [
                "Accounts", "Administration", "Applications", "Description", "Domain", "EmbeddedFiles",
                "Encodings", "HTTP", "Limiting", "Secrets", httpTypes, hummingbird, logging, nioCore, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Console",
            dependencies: [
                "AdministrationAPI", "Applications", "Description", "Domain", "Encodings", "HTTP", "Import", "Pages",
                crypto, httpTypes, hummingbird, nioCore,
            ],
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
            dependencies: [
                "Curl", "Domain", "Encodings", logging, metrics, nioLocks, tracing,
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "Server",
            dependencies: [
                "Accounts", "Administration", "AdministrationAPI", "Applications", "Backendless", "CMalloc",
                "Console", "Curl", "Description", "Domain", "Encodings", "Facebook", "Firebase", "FormerSystems",
                "HTTP", "Import",
                "Limiting", "Logins", "Maintenance", "Mapping", "Messaging", "Observability", "OAuth2", "OpenID",
                "Passwords", "Postgres", "Providers", "PublicAPI", "Secrets", "Store", "Twitter", argumentParser,
                configuration, httpTypes, hummingbird, logging, metrics, nioCore, nioLocks, nioPosix, serviceLifecycle,
                tracing,
                unixSignals,
            ],
            swiftSettings: strict
        ),

        // Beside the service, which knows none of these.
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "GraphSimulator",
            dependencies: [
                "CZlib", "Domain", "Encodings", crypto, cryptoExtras, nioCore, nioHTTP1, nioLocks, nioPosix,
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "graph-simulator",
            dependencies: [
                "GraphSimulator", argumentParser, logging, serviceLifecycle, unixSignals,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "CLibPQ", crypto, cryptoExtras, nioCore, nioHTTP1, nioLocks, nioPosix,
            ],
            swiftSettings: strict
        ),

        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
        .testTarget(
            name: "APITests",
            dependencies: [
                "Accounts", "Administration", "AdministrationAPI", "Applications", "Backendless", "Curl",
                "Description", "Domain", "EmbeddedFiles", "Encodings", "Firebase", "HTTP", "Limiting", "Logins",
                "Mapping",
                "Messaging", "Pages", "Postgres", "Providers", "PublicAPI", "Secrets", "Server", "Store",
                "TestSupport", argumentParser, httpTypes, hummingbird, logging, nioCore, nioEmbedded, nioHTTP1,
                nioHTTPTypes, nioLocks, serviceLifecycle,
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
        .testTarget(
            name: "DomainTests",
            dependencies: ["Domain", "Encodings"],
            swiftSettings: strict
        ),
        .testTarget(name: "EncodingsTests", dependencies: ["Encodings", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "DescriptionTests",
            dependencies: ["Description", "Domain", "Encodings"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LimitingTests",
            dependencies: ["Domain", "Encodings", "Limiting", "TestSupport", nioLocks],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MappingTests",
            dependencies: ["Domain", "Encodings", "Facebook", "Mapping"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ImportTests",
            dependencies: ["Domain", "Encodings", "Import", "Mapping"],
            exclude: ["Exports"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SignedTokensTests",
            dependencies: ["Domain", "Encodings", "SignedTokens", crypto, cryptoExtras],
            swiftSettings: strict
        ),
        .testTarget(
            name: "WebAuthnTests",
            dependencies: [
                "Encodings", "TestSupport", "WebAuthn", crypto, cryptoExtras,
            ],
            exclude: ["Vectors"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ObservabilityTests",
            dependencies: [
                "Curl", "Domain", "Observability", logging, metrics, tracing,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PasswordsTests",
            dependencies: ["Domain", "Encodings", "Passwords", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "OneTimeCodesTests",
            dependencies: ["Domain", "OneTimeCodes", "TestSupport", crypto],
            swiftSettings: strict
        ),
        .testTarget(name: "CurlTests", dependencies: ["Curl", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "MessagingTests",
            dependencies: [
                "Curl", "Domain", "GraphSimulator", "Messaging", "TestSupport", crypto,
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "PostgresTests", dependencies: ["Postgres", nioLocks], swiftSettings: strict),
        .testTarget(
            name: "FacebookTests",
            dependencies: [
                "Curl", "Domain", "Encodings", "Facebook", "GraphSimulator", "Providers", "SignedTokens", crypto,
                nioLocks,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AuthorizationServersTests",
            dependencies: ["AuthorizationServers", "Description", "Domain", "Encodings", "Providers"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FirebaseTests",
            dependencies: ["Domain", "Encodings", "Firebase", httpTypes],
            swiftSettings: strict
        ),
        .testTarget(
            name: "OpenIDTests",
            dependencies: [
                "AuthorizationServers", "Curl", "Description", "Domain", "Encodings", "Mapping", "OpenID", "Providers",
                "SignedTokens", crypto,
                logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TwitterTests",
            dependencies: [
                "Curl", "Domain", "Encodings", "GraphSimulator", "Mapping", "Providers", "TestSupport", "Twitter",
                nioLocks,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ProvidersTests",
            dependencies: ["Providers"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "GraphSimulatorTests",
            dependencies: [
                "CZlib", "graph-simulator", "GraphSimulator", "TestSupport", crypto, cryptoExtras, nioCore,
                nioLocks, nioPosix,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "UseCaseTests",
            dependencies: [
                "Accounts", "Administration", "Applications", "Curl", "Description", "Domain", "Encodings",
                "AuthorizationServers", "Facebook", "Import", "Logins", "Maintenance", "Mapping", "Messaging", "OpenID",
                "Passwords", "Postgres", "Providers", "Secrets", "SignedTokens", "Store", "TestSupport", "Twitter",
                asn1, crypto, cryptoExtras, logging, nioLocks, x509,
            ],
            swiftSettings: strict
        ),
        // Both targets open it with @testable; it has no other users.
        .target(
            name: "ServerTestSupport",
            dependencies: ["Domain", "Encodings", "TestSupport"],
            path: "Tests/ServerTestSupport",
            swiftSettings: strict
        ),
        // The executables are dependencies so that they lie beside the tests, which start them.
        .testTarget(
            name: "ServerTests",
            dependencies: [
                "Domain", "Encodings", "graph-simulator", "Server", "ServerTestSupport", "TestSupport",
                argumentParser, crypto, cryptoExtras, nioCore, nioLocks, nioPosix, nioSSL,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FaultTests",
            dependencies: [
                "Encodings", "graph-simulator", "Server", "ServerTestSupport", "TestSupport", crypto,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StoreTests",
            dependencies: ["Description", "Domain", "Encodings", "Postgres", "Store", "TestSupport"],
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
                "Administration", "Curl", "Domain", "Encodings", "Facebook", "HTTP",
                "Mapping", "OneTimeCodes", "Postgres", "Providers", "Secrets", "SignedTokens", "Store",
                "TestSupport", argumentParser, crypto, cryptoExtras, histogram, httpTypes, hummingbird, logging,
                nioCore, nioLocks,
            ],
            path: "Benchmarks",
            swiftSettings: strict
        )
    )
}
