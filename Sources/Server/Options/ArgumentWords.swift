import ArgumentParser
import Import
import Providers
import Store

// Words of the domain as arguments, for completion and help.

extension ImportSource: ExpressibleByArgument {}
extension LoginRecord.Method: ExpressibleByArgument {}
extension LoginRecord.Outcome: ExpressibleByArgument {}
