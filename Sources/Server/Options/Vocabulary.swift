import ArgumentParser
import Facebook
import Providers
import SignedTokens
import Vocabulary

// The words of the domain as arguments: shells complete them, and help lists them.

extension OperatorRole: ExpressibleByArgument {}
extension DialogChallenge: ExpressibleByArgument {}
extension ProofForm: ExpressibleByArgument {}
extension NoncePolicy: ExpressibleByArgument {}
extension UndeclaredProperties: ExpressibleByArgument {}
extension OffsetlessTimes: ExpressibleByArgument {}

extension PropertyType: ExpressibleByArgument {
    /// Small letters will do.
    package init?(argument: String) {
        self.init(rawValue: argument.uppercased())
    }
}
