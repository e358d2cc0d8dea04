package import Mapping
import Providers
import Store
import Vocabulary

/// Whether a provider has the fields that a mapping reads, by the provider's own answer.
package enum FieldCheck: Sendable {
    /// The entries that read a field which the provider does not have.
    case asked([MappingProblem])
    /// The provider was not asked, for a reason that is a part of a sentence.
    case notAsked(String)
}

extension Store {
    /// Asks a provider for the fields of a mapping, by one of the application's apps by which somebody has logged in.
    ///
    /// - Parameters:
    ///   - mapping: The mapping in either form.
    ///   - provider: The provider, with its apps and their secrets.
    ///   - application: The application whose users have logged in; nil when there is none yet.
    /// - Returns: The provider's answer, or why it was not asked.
    func check(
        fieldsOf mapping: JSONValue,
        at provider: any Provider,
        in application: ApplicationPlace?
    ) async -> FieldCheck {
        let fields = MappingCheck.fields(of: mapping)
        guard let checking = provider as? any FieldChecking else {
            return .notAsked("\(provider.title) gives all that it has, and is asked for no field")
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
                    deadline: .now + Administration.providerPatience
                )
                return .asked(MappingCheck.problems(of: mapping, unknown: unknown, fields: provider.fields))
            }
            return .notAsked("nobody has logged in by \(provider.title) yet, about whom it could be asked")
        } catch {
            return .notAsked("\(provider.title) does not tell: \(error.message)")
        }
    }
}
