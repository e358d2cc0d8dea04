import FoundationEssentials
import Testing

/// The sources as they lie on disk.
enum Repository {
    struct Source: Sendable, CustomTestStringConvertible {
        /// The folder under `Sources`.
        let module: String
        /// From the root of the repository.
        let path: String
        let text: String

        var swift: SwiftText { SwiftText(text) }
        var name: String { path.split(separator: "/").last.map(String.init) ?? path }
        var testDescription: String { path }
    }

    /// The folder that holds schema.sql and Sources, whatever link the tests were reached by.
    static let root: URL = {
        var folder = URL(filePath: #filePath).resolvingSymlinksInPath()
        while folder.pathComponents.count > 1 {
            folder.deleteLastPathComponent()
            let marks = ["schema.sql", "Sources"].map { folder.appending(path: $0).path }
            if marks.allSatisfy(FileManager.default.fileExists(atPath:)) { break }
        }
        return folder
    }()

    /// Every Swift file under Sources, in the order of their paths.
    static let sources: [Source] = {
        let folder = root.appending(path: "Sources").path
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return paths.filter { $0.hasSuffix(".swift") }.sorted().compactMap { path in
            guard let text = try? String(contentsOfFile: folder + "/" + path, encoding: .utf8),
                let module = path.split(separator: "/").first
            else { return nil }
            return Source(module: String(module), path: "Sources/" + path, text: text)
        }
    }()

    /// The modules that have Swift files.
    static let modules: [String] = Set(sources.map(\.module)).sorted()
}
