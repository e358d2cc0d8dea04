import ArgumentParser
import Encodings

/// The option by which an operator repeats the name of an object to confirm its permanent removal.
struct ConfirmationOption: ParsableArguments {
    @Option(name: .customLong("confirm"), help: "The name again, to confirm. Required without a terminal.")
    var name: String?

    /// Checks that the operator has repeated the name, in the option or at the terminal.
    ///
    /// - Parameters:
    ///   - name: The name that must be repeated.
    ///   - consequence: What will be lost.
    /// - Throws: An exit code for a missing or different name.
    func require(_ name: String, losing consequence: String) throws {
        guard let given = try self.name ?? ask(name, consequence) else {
            throw Exit.refusing("nothing was removed.")
        }
        guard given.hasSameBytes(as: name) else {
            throw Exit.refusing("\(given) is not \(name): nothing was removed.")
        }
    }

    private func ask(_ name: String, _ consequence: String) throws -> String? {
        guard Terminal.canAsk else {
            throw Exit.refusing(
                "this removes \(consequence). To confirm, repeat the command with --confirm \(name)."
            )
        }
        Terminal.say("This removes \(consequence).")
        return Terminal.ask("Type \(name) to confirm:")
    }
}
