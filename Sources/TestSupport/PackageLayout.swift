import FoundationEssentials
import Glibc

/// The paths of this package and of its build.
package enum PackageLayout {
    /// The folder of `Package.swift`.
    package static let root: String = {
        var components = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        components.removeLast(3)
        return components.joined(separator: "/")
    }()

    /// Returns the path of a file from its path relative to the package's folder.
    package static func path(_ relative: String) -> String {
        "\(root)/\(relative)"
    }

    /// Returns the path of the executable of one of this package's programs.
    ///
    /// The executable is in the folder that the environment variable `FEDERATION_TEST_BINARIES` names. `scripts/test
    /// --release` sets this variable to the folder of the release build. Without the variable, the executable is in the
    /// folder of the running tests.
    ///
    /// - Throws: ``MissingProduct`` if the program was not built. ``StaleProduct`` if the variable is set and a source
    ///   file is newer than the executable.
    package static func executable(_ product: String) throws -> String {
        let path = "\(try releaseFolder ?? builtFolder())/\(product)"
        guard FileManager.default.isExecutableFile(atPath: path) else { throw MissingProduct(path: path) }
        if drivesRelease, try modified(path) < youngestSource.get() { throw StaleProduct(path: path) }
        return path
    }

    /// Whether the tests use the release build.
    package static var drivesRelease: Bool { releaseFolder != nil }

    private static let releaseFolder = getenv("FEDERATION_TEST_BINARIES").map { String(cString: $0) }

    /// Returns the folder that contains the running test program.
    ///
    /// SwiftPM puts the executables of all of the package's programs into the same folder.
    private static func builtFolder() throws -> String {
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return runner.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }

    /// The time of the latest change of a source file.
    private static let youngestSource = Result {
        let sources = try FileManager.default.subpathsOfDirectory(atPath: path("Sources")).map { path("Sources/\($0)") }
        return try (sources + [path("Package.swift")]).map(modified).max() ?? .distantPast
    }

    private static func modified(_ path: String) throws -> Date {
        try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date ?? .distantPast
    }
}

/// An error: an executable is older than the sources.
package struct StaleProduct: Error, CustomStringConvertible {
    package let path: String

    package var description: String { "\(path) is older than the sources; run scripts/test --release" }
}

/// An error: an executable is missing in the build folder.
package struct MissingProduct: Error, CustomStringConvertible {
    package let path: String

    package var description: String { "\(path) is not there; run swift build first" }
}
