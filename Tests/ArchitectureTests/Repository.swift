import FoundationEssentials
import Testing

/// The Swift sources of the repository on disk.
enum Repository {
    struct Source: Sendable, CustomTestStringConvertible {
        /// The folder below `Sources`, or `Benchmarks`.
        let module: String
        /// The path from the root of the repository.
        let path: String
        let text: String

        var swift: SwiftText { SwiftText(text) }
        var name: String { path.split(separator: "/").last.map(String.init) ?? path }
        var testDescription: String { path }
    }

    /// The folder that holds schema.sql and Sources, with symbolic links resolved.
    static let root: URL = {
        var folder = URL(filePath: #filePath).resolvingSymlinksInPath()
        while folder.pathComponents.count > 1 {
            folder.deleteLastPathComponent()
            let marks = ["schema.sql", "Sources"].map { folder.appending(path: $0).path }
            if marks.allSatisfy(FileManager.default.fileExists(atPath:)) { break }
        }
        return folder
    }()

    /// Every Swift file below Benchmarks and Sources, sorted by path.
    static let sources: [Source] = {
        let paths = ["Benchmarks", "Sources"].flatMap { folder in
            let names = try? FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
            return (names ?? []).map { "\(folder)/\($0)" }
        }
        return paths.filter { $0.hasSuffix(".swift") }.sorted().compactMap { path in
            let parts = path.split(separator: "/")
            guard let text = try? String(contentsOfFile: root.appending(path: path).path, encoding: .utf8),
                let module = parts[0] == "Sources" ? parts.dropFirst().first : parts[0]
            else { return nil }
            return Source(module: String(module), path: path, text: text)
        }
    }()

    /// The modules that have Swift files.
    static let modules: [String] = Set(sources.map(\.module)).sorted()
}
