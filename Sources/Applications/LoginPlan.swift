package import Vocabulary
package import Mapping
package import Providers
package import Store

/// What logins of one application with one client mapping have in common: made once, used until the configuration changes.
///
/// All of them hold the same object: a copy of its many parts for each would cost as much as mapping a profile.
package final class LoginPlan: Sendable {
    package let mapping: CompiledMapping
    /// For a credential that may be used again.
    package let statement: SignInStatement
    /// For a credential that counts once.
    package let singleUseStatement: SignInStatement
    /// For each target of the statement the position of its value among the mapping's targets.
    private let positions: [Int]
    /// Dynamic targets: name and position of its value.
    private let dynamic: [(name: PropertyName, position: Int)]

    package init(mapping: CompiledMapping, provider: ProviderName, tokens: TokenPolicy?, application: Application) {
        var targets: [SignInStatement.Target] = []
        var positions: [Int] = []
        var dynamic: [(name: PropertyName, position: Int)] = []
        for (position, target) in mapping.targets.enumerated() {
            switch target.place {
            case .column(let property):
                targets.append(
                    .init(
                        name: property.name,
                        type: property.type,
                        sync: target.sync,
                        mayBeCleared: target.mayBeCleared
                    )
                )
                positions.append(position)
            case .dynamic(let name):
                dynamic.append((name, position))
            }
        }
        self.mapping = mapping
        self.positions = positions
        self.dynamic = dynamic
        let tokens: TokenKeeping? = tokens.map { $0.isExchanged ? .exchanged : .asItIs }
        statement = SignInStatement(application: application, provider: provider, tokens: tokens, targets: targets)
        singleUseStatement = SignInStatement(
            application: application,
            provider: provider,
            tokens: tokens,
            targets: targets,
            use: .once
        )
    }

    /// For a profile that was read without a login; with the values of `columnValues(of:)`.
    package func refreshStatement(of application: Application) -> ProfileRefreshStatement {
        ProfileRefreshStatement(application: application, targets: statement.targets)
    }

    /// The mapped values in the order of the statement's targets.
    package func columnValues(of mapped: MappedProfile) -> [PropertyValue?] {
        positions.map { mapped.values[$0] }
    }

    /// The mapped values of undeclared properties.
    package func dynamicValues(of mapped: MappedProfile) -> JSONObject {
        JSONObject(
            dynamic.compactMap { name, position in
                mapped.values[position].map { JSONObject.Member(name.text, $0.json) }
            }
        )
    }
}
