import Identity
import Store

extension Federation {
    /// Why this instance should not get traffic; nil when it is ready: database reachable, schema current, configuration read.
    package func reasonNotReady() async -> String? {
        do throws(Failure) {
            let version = try await store.schemaVersion()
            guard version == store.expectedSchemaVersion else {
                return "the schema has version \(version), this binary needs \(store.expectedSchemaVersion): "
                    + "run federation migrate"
            }
        } catch {
            return "the database cannot be asked"
        }
        return directory.isLoaded ? nil : "the configuration has not been read yet"
    }
}
