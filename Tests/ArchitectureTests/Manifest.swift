import FoundationEssentials

/// The targets of `Package.swift`, read as text.
enum Manifest {
    /// The modules that a target may import, by the target's name: targets of this package, and modules of libraries.
    static let dependencies: [String: Set<String>] = {
        let path = Repository.root.appending(path: "Package.swift").path
        return (try? String(contentsOfFile: path, encoding: .utf8)).map(read) ?? [:]
    }()

    /// The modules of a product beside the one of the product's name.
    private static let further = ["Hummingbird": ["HummingbirdCore"]]

    /// Returns the modules that each target may import, from its `name:` and `dependencies:`.
    ///
    /// A word without quotes is a product or a list of dependencies to which the manifest gives that name.
    static func read(_ manifest: String) -> [String: Set<String>] {
        var named: [Substring: Set<String>] = [:]
        for match in manifest.matches(of: /let (\w+) = Target\.Dependency\.product\(name: "([^"]+)"/) {
            let product = String(match.2)
            named[match.1] = Set([product] + (further[product] ?? []))
        }
        func modules(_ list: Substring) -> Set<String> {
            list.matches(of: /"([^"]+)"|(\w+)/).reduce(into: []) { all, match in
                if let quoted = match.1 {
                    all.insert(String(quoted))
                } else if let word = match.2 {
                    all.formUnion(named[word] ?? [])
                }
            }
        }
        for match in manifest.matches(of: /let (\w+): \[Target\.Dependency\] = \[([^\]]*)\]/) {
            named[match.1] = modules(match.2)
        }
        var targets: [String: Set<String>] = [:]
        for block in manifest.split(separator: /\.(?:target|executableTarget|testTarget|systemLibrary)\(/).dropFirst() {
            guard let name = block.firstMatch(of: /^\s*name: "([^"]+)"/)?.1 else { continue }
            let list = block.firstMatch(of: /dependencies: (?:\[([^\]]*)\]|(\w+))/)
            targets[String(name)] = list.map { modules($0.1 ?? $0.2 ?? "") } ?? []
        }
        return targets
    }
}
