import ArgumentParser
import Facebook
import Import
import Providers
import SignedTokens
import Store
import Vocabulary

// The words of the domain as arguments: shells complete them, and help lists them.

extension OperatorRole: ExpressibleByArgument {}
extension Visibility: ExpressibleByArgument {}
extension DialogChallenge: ExpressibleByArgument {}
extension ProofForm: ExpressibleByArgument {}
extension NoncePolicy: ExpressibleByArgument {}
extension UndeclaredProperties: ExpressibleByArgument {}
extension OffsetlessTimes: ExpressibleByArgument {}
extension ClientKeyRight: ExpressibleByArgument {}
extension ExcessLogins: ExpressibleByArgument {}
extension NewUsers: ExpressibleByArgument {}
extension ReauthenticationRule: ExpressibleByArgument {}
extension ImportSource: ExpressibleByArgument {}
extension LoginRecord.Method: ExpressibleByArgument {}
extension LoginRecord.Outcome: ExpressibleByArgument {}

extension PropertyType: ExpressibleByArgument {
    /// Small letters will do.
    package init?(argument: String) {
        self.init(rawValue: argument.uppercased())
    }
}
