import Domain
import Encodings
package import Mapping
import Providers
import Store

/// The result of asking a provider whether it has the fields that a mapping reads.
package enum FieldCheck: Sendable {
    /// The entries that read a field unknown to the provider.
    case asked([MappingProblem])
    /// The provider was not asked; the reason is a part of a sentence.
    case notAsked(String)
}

extension Store {
    /// Asks a provider for the fields of a mapping, about a user who has logged in by one of the apps.
    ///
    /// - Parameters:
    ///   - mapping: The mapping in either form.
    ///   - provider: The provider, with its apps and their secrets.
    ///   - application: The application whose users have logged in; nil for a new one.
    /// - Returns: The unknown fields, or why the provider was not asked.
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
