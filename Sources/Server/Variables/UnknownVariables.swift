import Description
import Domain
import Providers

/// Finds unknown names of configuration variables, in the environment and in the configuration file.
///
/// Such a name is most likely misspelt. Without a message, the service would ignore it silently.
enum UnknownVariables {
    private static let known = VariableTable.all.flatMap(\.variables)
    private static let prefix = ServiceVariable.prefix
    private static let filePrefix = "federation."

    /// Returns an error message for each environment variable that has the service's prefix and an unknown name.
    static func problems(environment names: some Collection<String>) -> [String] {
        let prefixes = clusterPrefixes(of: names)
        return problems(
            of: names.filter { name in
                name.hasPrefix(prefix) && !prefixes.contains { name.hasPrefix($0) }
            },
            among: known.map { String($0.name.dropFirst(prefix.count)) },
            behind: prefix,
            orElse: "; variables for documents must not begin with FEDERATION_"
        )
    }

    /// Returns an error message for each unknown name in the configuration file.
    static func problems(file places: some Collection<String>) -> [String] {
        problems(of: places, among: known.map(\.key), behind: filePrefix)
    }

    /// Returns an error message for each unknown name.
    ///
    /// A message suggests the most similar known name. Names are compared without their prefix, since the common prefix
    /// would make all names similar. The message has the text `advice` instead if no known name is similar.
    private static func problems(
        of names: some Collection<String>,
        among known: [String],
        behind prefix: String,
        orElse advice: String = ""
    ) -> [String] {
        let all = Set(known.map { prefix + $0 })
        return names.filter { !all.contains($0) }.sorted().map { name in
            let rest = name.hasPrefix(prefix) ? name.dropFirst(prefix.count) : name[...]
            if let present = present(rest) { return "\(name) is now called \(prefix + present)" }
            let nearest = NearestName.of(rest, among: known).map { " (did you mean \(prefix + $0)?)" } ?? advice
            return "\(name) is not a variable of the service" + nearest
        }
    }

    /// Returns the current name of a variable that was renamed before version 0.1.0; nil for any other name.
    private static func present(_ name: Substring) -> String? {
        for (former, present) in [("UPKEEP_", "MAINTENANCE_"), ("upkeep.", "maintenance.")]
        where name.hasPrefix(former) {
            return present + name.dropFirst(former.count)
        }
        return nil
    }

    /// Returns the prefixes of the environment variables that Kubernetes sets in every container for each of its
    /// services.
    ///
    /// For a Kubernetes service `federation`, the variables are `FEDERATION_SERVICE_HOST` and others, with the prefixes
    /// `FEDERATION_SERVICE_` and `FEDERATION_PORT`.
    ///
    /// Source: https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
    private static func clusterPrefixes(of names: some Collection<String>) -> [String] {
        let mark = "_SERVICE_HOST"
        return names.filter { $0.hasSuffix(mark) }.flatMap { name in
            let service = name.dropLast(mark.count)
            return ["\(service)_SERVICE_", "\(service)_PORT"]
        }
    }
}
