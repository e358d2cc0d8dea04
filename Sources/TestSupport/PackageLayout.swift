import FoundationEssentials

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

    /// The executable that was built together with the running tests.
    ///
    /// - Throws: ``MissingProduct`` when it has not been built.
    package static func executable(_ product: String) throws -> String {
        // SwiftPM puts the test runner and every product into one folder.
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let folder = runner.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let path = "\(folder)/\(product)"
        guard FileManager.default.isExecutableFile(atPath: path) else { throw MissingProduct(path: path) }
        return path
    }
}

/// An executable product is not in the build folder.
package struct MissingProduct: Error, CustomStringConvertible {
    package let path: String

    package var description: String { "\(path) is not there; run swift build first" }
}
