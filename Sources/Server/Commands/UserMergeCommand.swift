import Administration
import ArgumentParser
import Domain
import Encodings

struct UserMergeCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Make two users one.",
        discussion: """
            The user who survives gets the login methods, second factors and roles of both. --rule and --property \
            choose whose value stays for each property: keep, the survivor's; fill, the other one if the survivor has \
            none; take, the other one if there is one; sync, take for what each login of the other user overwrites. \
            All sessions of both end. A mail tells both users, with a link that undoes the merge for seven days.

            Examples:
              federation user merge demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60 \\
                7A1B9C3D-2E4F-4A6B-8C7D-9E0F1A2B3C4D --dry-run
              federation user merge demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60 \\
                7A1B9C3D-2E4F-4A6B-8C7D-9E0F1A2B3C4D --property phone=take \\
                --reason ticket-4711 --confirm 7A1B9C3D-2E4F-4A6B-8C7D-9E0F1A2B3C4D
            """
    )

    @OptionGroup var user: UserArgument

    @Argument(help: ArgumentHelp("The objectId of the user who becomes a part of the first.", valueName: "merged"))
    var merged: String

    @Option(help: "The rule for all properties: keep, fill, take or sync.")
    var rule = MergeRule.fill.rawValue

    @Option(help: ArgumentHelp("The rule for one property. Repeatable.", valueName: "name=rule"))
    var property: [String] = []

    @Option(help: "The reason for the audit log, 1 to 500 bytes.")
    var reason: String?

    @Flag(help: "Tell whose values would stay, and change nothing.")
    var dryRun = false

    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var precondition: PreconditionOption
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard dryRun || reason != nil else { throw ValidationError("Give --reason, or --dry-run.") }
        _ = try rules
    }

    private var rules: JSONObject {
        get throws {
            var rules = JSONObject()
            for word in property {
                let parts = word.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
                guard parts.count == 2, rules[parts[0]] == nil else {
                    throw ValidationError("--property \(word) is not NAME=RULE, or is repeated.")
                }
                rules.append(parts[0], .string(parts[1]))
            }
            return rules
        }
    }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let application = user.application.id
        if !dryRun {
            try confirmation.require(merged, losing: "the user \(merged) of \(application) as a user of its own")
        }
        var document: JSONObject = [
            "merged": .string(merged), "rule": .string(rule), "properties": .object(try rules),
        ]
        if let reason { document.append("reason", .string(reason)) }
        let made = try await administration.users.merge(
            into: user.id,
            of: application,
            by: .object(document),
            isDryRun: dryRun,
            if: precondition.precondition,
            by: actor
        )
        try output.show(made, [])
    }
}

struct UserUnmergeCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmerge",
        abstract: "Undo the merge of a user, who exists again.",
        discussion: """
            Both users are as before the merge. What was changed or removed since stays so. All sessions of the \
            survivor end. A merge can be undone for seven days.

            Example:
              federation user unmerge demo 7A1B9C3D-2E4F-4A6B-8C7D-9E0F1A2B3C4D \\
                --reason two-humans
            """
    )

    @OptionGroup var application: ApplicationArgument

    @Argument(help: ArgumentHelp("The objectId of the user who was merged.", valueName: "merged"))
    var merged: String

    @Option(help: "The reason for the audit log, 1 to 500 bytes.")
    var reason: String

    @OptionGroup var output: OutputOptions

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let undone = try await administration.users.undoMerge(
            of: merged,
            in: application.id,
            by: .object(["reason": .string(reason)]),
            by: actor
        )
        try output.show(undone, [])
    }
}
