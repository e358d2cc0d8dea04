import ArgumentParser
import Vocabulary

/// The name, once more, of what a command removes for good.
struct ConfirmationOption: ParsableArguments {
    @Option(name: .customLong("confirm"), help: "The name once more; needed where nobody can be asked.")
    var name: String?

    /// Lets a removal go on when the name was given, or is typed by the person at the terminal.
    ///
    /// - Parameters:
    ///   - name: What must be given.
    ///   - consequence: What will be lost.
    /// - Throws: An exit code when it was not given, or was another one.
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
                "this removes \(consequence). Repeat the command with --confirm \(name) if that is meant."
            )
        }
        Terminal.say("This removes \(consequence).")
        return Terminal.ask("Type \(name) to confirm:")
    }
}
