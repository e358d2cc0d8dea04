import ArgumentParser
import Encodings

/// The repeated name of the object that a command removes for good.
struct ConfirmationOption: ParsableArguments {
    @Option(name: .customLong("confirm"), help: "The name again, to confirm. Required without a terminal.")
    var name: String?

    /// Requires the name by the option, or typed at the terminal.
    ///
    /// - Parameters:
    ///   - name: The required name.
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
