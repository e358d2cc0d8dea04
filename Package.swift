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
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let histogram = Target.Dependency.product(name: "Histogram", package: "hdrhistogram-swift")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP1 = Target.Dependency.product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let nioLocks = Target.Dependency.product(name: "NIOConcurrencyHelpers", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let systemPackage = Target.Dependency.product(name: "SystemPackage", package: "swift-system")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")

let package = Package(
    name: "federation",
    products: [
        .executable(name: "federation", targets: ["Server"]),
        .executable(name: "graph-simulator", targets: ["graph-simulator"]),
        .executable(name: "benchmarks", targets: ["Benchmarks"]),
        .library(name: "GraphSimulator", targets: ["GraphSimulator"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // 2.100.0 caps the number of header fields; older ones let 70,000 of them crash the process (CVE-2026-28980).
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.1"),
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
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
        .target(name: "Identity", swiftSettings: strict),
        .target(name: "Mapping", dependencies: ["Identity"], swiftSettings: strict),
        .target(name: "Verification", dependencies: ["Identity", crypto, cryptoExtras], swiftSettings: strict),
        .target(name: "Curl", dependencies: ["CLibCurl", nioLocks], swiftSettings: strict),
        .target(name: "Postgres", dependencies: ["CLibPQ", nioLocks], swiftSettings: strict),
        .target(name: "Upstream", dependencies: ["Curl", "Identity", nioLocks], swiftSettings: strict),
        .target(
            name: "Graph",
            dependencies: ["Curl", "Identity", "Upstream", crypto, nioLocks],
            swiftSettings: strict
        ),
        .target(
            name: "Twitter",
            dependencies: ["Curl", "Identity", "Upstream", crypto, nioLocks],
            swiftSettings: strict
        ),
        .target(
            name: "Passwords",
            dependencies: ["CArgon2", "Identity", nioLocks],
            resources: [.embedInCode("common-passwords.txt")],
            swiftSettings: strict
        ),
        .target(
            name: "Mailing",
            dependencies: ["Curl", "Identity"],
            resources: [.embedInCode("templates")],
            swiftSettings: strict
        ),
        .target(
            name: "Store",
            dependencies: ["Identity", "Postgres"],
            resources: [.embedInCode("schema.sql")],
            swiftSettings: strict
        ),
        .target(
            name: "Federation",
            dependencies: [
                "Graph", "Identity", "Mailing", "Mapping", "Passwords", "Store", "Twitter", "Verification", crypto,
                logging, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "API",
            dependencies: [
                "Federation", "Identity", httpTypes, hummingbird, logging, nioCore, nioHTTP1, nioHTTPTypes,
                nioHTTPTypesHTTP1, nioLocks,
            ],
            resources: [.embedInCode("public.json"), .embedInCode("management.json")],
            swiftSettings: strict
        ),
        .target(name: "Observability", dependencies: ["Identity", logging, nioLocks], swiftSettings: strict),
        .executableTarget(
            name: "Server",
            dependencies: [
                "API", "Curl", "Federation", "Graph", "Identity", "Mailing", "Observability", "Passwords", "Postgres",
                "Store", "Twitter",
                argumentParser, configuration, hummingbird, logging, nioCore, serviceLifecycle, systemPackage,
                unixSignals,
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
            dependencies: ["CLibPQ", nioCore, nioHTTP1, nioLocks, nioPosix],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "API", "Curl", "Federation", "Identity", "Mapping", "Postgres", "Store", "TestSupport",
                argumentParser, crypto, cryptoExtras, histogram, httpTypes, hummingbird, nioCore, nioLocks,
            ],
            swiftSettings: strict
        ),

        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
        .testTarget(
            name: "APITests",
            dependencies: [
                "API", "Curl", "Federation", "Graph", "Identity", "Postgres", "Store", "Twitter", "TestSupport",
                httpTypes,
                hummingbird, logging, nioCore, nioEmbedded, nioHTTP1,
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "IdentityTests", dependencies: ["Identity"], swiftSettings: strict),
        .testTarget(name: "MappingTests", dependencies: ["Identity", "Mapping"], swiftSettings: strict),
        .testTarget(
            name: "VerificationTests",
            dependencies: ["Identity", "Verification", crypto, cryptoExtras],
            swiftSettings: strict
        ),
        .testTarget(name: "ObservabilityTests", dependencies: ["Observability"], swiftSettings: strict),
        .testTarget(name: "PasswordsTests", dependencies: ["Identity", "Passwords"], swiftSettings: strict),
        .testTarget(name: "CurlTests", dependencies: ["Curl", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "MailingTests", dependencies: ["Identity", "Mailing", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "PostgresTests", dependencies: ["Postgres", nioLocks], swiftSettings: strict),
        .testTarget(
            name: "GraphTests",
            dependencies: ["Curl", "Graph", "GraphSimulator", "Identity", "Upstream", "Verification", nioLocks],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TwitterTests",
            dependencies: ["Curl", "GraphSimulator", "Identity", "TestSupport", "Twitter", "Upstream", nioLocks],
            swiftSettings: strict
        ),
        .testTarget(name: "UpstreamTests", dependencies: ["Identity", "Upstream"], swiftSettings: strict),
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
                "Curl", "Federation", "Graph", "Identity", "Mailing", "Mapping", "Postgres", "Store", "Twitter",
                "TestSupport",
                logging, nioLocks,
            ],
            swiftSettings: strict
        ),
        // Both targets open it with @testable; it has no other users.
        .target(
            name: "ServerTestSupport",
            dependencies: ["Identity", "TestSupport"],
            path: "Tests/ServerTestSupport",
            swiftSettings: strict
        ),
        // The executables are dependencies so that they lie beside the tests, which start them.
        .testTarget(
            name: "ServerTests",
            dependencies: ["Identity", "Server", "ServerTestSupport", "TestSupport", "graph-simulator", crypto],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FaultTests",
            dependencies: ["Identity", "Server", "ServerTestSupport", "TestSupport", "graph-simulator", crypto],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StoreTests",
            dependencies: ["Identity", "Postgres", "Store", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TestSupportTests",
            dependencies: ["TestSupport", nioCore, nioLocks, nioPosix],
            swiftSettings: strict
        ),
    ]
)
