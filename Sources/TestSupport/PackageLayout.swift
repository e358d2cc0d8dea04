import FoundationEssentials
import Glibc

/// Where the files of this package and of its build are.
package enum PackageLayout {
    /// The folder that holds `Package.swift`.
    package static let root: String = {
        var components = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        components.removeLast(3)
        return components.joined(separator: "/")
    }()

    /// The path of a file, given relative to the package's folder.
    package static func path(_ relative: String) -> String {
        "\(root)/\(relative)"
    }

    /// The executable of a product: the one in the folder that `FEDERATION_TEST_BINARIES` names, as
    /// `scripts/test --release` sets it, else the one that was built together with the running tests.
    ///
    /// - Throws: ``MissingProduct`` when it has not been built; ``StaleProduct`` when a source is younger than the one
    ///   in that folder, which nothing but the script brings up to date.
    package static func executable(_ product: String) throws -> String {
        let path = "\(try releaseFolder ?? builtFolder())/\(product)"
        guard FileManager.default.isExecutableFile(atPath: path) else { throw MissingProduct(path: path) }
        if drivesRelease, try modified(path) < youngestSource.get() { throw StaleProduct(path: path) }
        return path
    }

    /// Whether tests drive the release build.
    package static var drivesRelease: Bool { releaseFolder != nil }

    private static let releaseFolder = getenv("FEDERATION_TEST_BINARIES").map { String(cString: $0) }

    /// SwiftPM puts the test runner and every product into one folder.
    private static func builtFolder() throws -> String {
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return runner.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }

    /// When a file of the sources last changed.
    private static let youngestSource = Result {
        let sources = try FileManager.default.subpathsOfDirectory(atPath: path("Sources")).map { path("Sources/\($0)") }
        return try (sources + [path("Package.swift")]).map(modified).max() ?? .distantPast
    }

    private static func modified(_ path: String) throws -> Date {
        try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date ?? .distantPast
    }
}

/// An executable is older than the sources.
package struct StaleProduct: Error, CustomStringConvertible {
    package let path: String

    package var description: String { "\(path) is older than the sources; run scripts/test --release" }
}

/// An executable product is not in the build folder.
package struct MissingProduct: Error, CustomStringConvertible {
    package let path: String

    package var description: String { "\(path) is not there; run swift build first" }
}
