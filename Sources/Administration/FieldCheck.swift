import Domain
import Encodings
package import Mapping
import Providers
import Store

/// The result of asking a provider whether it has the fields that a mapping reads.
package enum FieldCheck: Sendable {
    /// The provider was asked. The value has the mapping entries that read a field unknown to the provider.
    case asked([MappingProblem])
    /// The provider was not asked, or did not respond. The value is the reason, as a part of a sentence.
    case notAsked(String)
}

extension Store {
    /// Asks a provider whether it has the fields that a mapping reads.
    ///
    /// The service asks the provider for these fields of a user who has logged in with one of the provider's apps.
    ///
    /// - Parameters:
    ///   - mapping: The mapping, as a list or as a dictionary.
    ///   - provider: The provider, with its apps and their secrets.
    ///   - application: The application whose users have logged in; nil for a new one.
    /// - Returns: The mapping entries that read a field unknown to the provider, or why the provider was not asked.
    func check(
        fieldsOf mapping: JSONValue,
        at provider: any Provider,
        in application: ApplicationPlace?
    ) async -> FieldCheck {
        let fields = MappingCheck.fields(of: mapping)
        guard let checking = provider as? any FieldChecking else {
            return .notAsked("\(provider.title) sends all fields and cannot be asked for single ones")
        }
        guard !fields.isEmpty else { return .asked([]) }
        do throws(Failure) {
            for app in provider.apps {
                guard let application,
                    let subject = try await self.subject(knownTo: app.id, at: provider.name, in: application)
                else { continue }
                let unknown = try await checking.unknownFields(
                    among: fields,
                    of: subject,
                    asking: app,
                    deadline: .now + Administration.providerTimeout
                )
                return .asked(MappingCheck.problems(of: mapping, unknown: unknown, fields: provider.fields))
            }
            return .notAsked("no user has logged in with \(provider.title) yet, which the check needs")
        } catch {
            return .notAsked("\(provider.title) did not respond with the fields: \(error.message)")
        }
    }
}
