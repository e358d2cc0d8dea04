// swift-tools-version: 6.2
import PackageDescription

// The modules and their arrows are those of docs/architecture.md; Tests/ArchitectureTests holds the imports to this list.

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioLocks = Target.Dependency.product(name: "NIOConcurrencyHelpers", package: "swift-nio")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "federation",
    products: [
        .executable(name: "federation", targets: ["Server"])
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
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
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
        .target(name: "Identity", swiftSettings: strict),
        .target(name: "Mapping", dependencies: ["Identity"], swiftSettings: strict),
        .target(name: "Verification", dependencies: ["Identity"], swiftSettings: strict),
        .target(name: "Curl", dependencies: ["CLibCurl"], swiftSettings: strict),
        .target(name: "Postgres", dependencies: ["CLibPQ"], swiftSettings: strict),
        .target(name: "Graph", dependencies: ["Curl", "Identity", crypto], swiftSettings: strict),
        .target(
            name: "Store",
            dependencies: ["Identity", "Postgres"],
            resources: [.embedInCode("schema.sql")],
            swiftSettings: strict
        ),
        .target(
            name: "Federation",
            dependencies: [
                "Graph", "Identity", "Mapping", "Store", "Verification", crypto, logging, nioLocks,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "API",
            dependencies: [
                "Federation", "Identity", httpTypes, hummingbird, logging, nioCore, nioHTTPTypes,
            ],
            swiftSettings: strict
        ),
        .target(name: "Observability", dependencies: ["Identity", logging], swiftSettings: strict),
        .executableTarget(
            name: "Server",
            dependencies: [
                "API", "Curl", "Federation", "Graph", "Identity", "Observability", "Postgres", "Store",
                argumentParser, hummingbird, logging, nioCore, serviceLifecycle,
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
    ]
)
