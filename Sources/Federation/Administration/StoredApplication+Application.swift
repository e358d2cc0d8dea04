import Vocabulary
import Store

extension Application {
    /// An application as operators work with it: without providers, whose secrets logins alone need.
    ///
    /// - Throws: `internal` when its settings cannot be read, which only a change past the administration brings about.
    init(_ stored: StoredApplication) throws(Failure) {
        let settings: ApplicationSettings
        do { settings = try SettingsDocument.parse(stored.settings) } catch {
            throw Failure(.internal, "The settings of this application cannot be read.", cause: "\(error)")
        }
        self.init(
            id: stored.id,
            name: stored.name,
            schema: stored.schema,
            revision: stored.revision,
            settings: settings,
            properties: stored.properties
        )
    }
}
