import Description
import Domain
import Providers

/// Finds names with the prefix of the service, in the environment or the configuration file, that are no variable.
///
/// Such a name is most likely misspelt. Without a message it would be ignored silently.
enum UnknownVariables {
    private static let known = VariableTable.all.flatMap(\.variables)
    private static let prefix = ServiceVariable.prefix
    private static let filePrefix = "federation."

    /// Returns a problem for each unknown name of the environment.
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

    /// Returns a problem for each unknown name in the configuration's file.
    static func problems(file places: some Collection<String>) -> [String] {
        problems(of: places, among: known.map(\.key), behind: filePrefix)
    }

    /// Returns a problem for each unknown name.
    ///
    /// Names are compared without their prefix, since with it all names would be similar. `advice` is for a name that
    /// resembles no variable.
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

    /// Returns the present name of a variable that had another name before 0.1.0.
    private static func present(_ name: Substring) -> String? {
        for (former, present) in [("UPKEEP_", "MAINTENANCE_"), ("upkeep.", "maintenance.")]
        where name.hasPrefix(former) {
            return present + name.dropFirst(former.count)
        }
        return nil
    }

    /// Returns the prefixes of names that Kubernetes sets in every container, for each of its services.
    ///
    /// For a variable such as `FEDERATION_SERVICE_HOST`, the prefixes are `FEDERATION_SERVICE_` and `FEDERATION_PORT`.
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
