import Administration
import ArgumentParser
import Vocabulary

struct PropertyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "property",
        abstract: "Properties: the typed columns of an application's users.",
        subcommands: [List.self, Declare.self, Change.self, Index.self, Remove.self]
    )

    /// The property that a command works on.
    struct NameArgument: ParsableArguments {
        @OptionGroup var application: ApplicationArgument

        @Argument(help: "The property's name.")
        var name: String
    }

    /// Who may write and see a property, and whether a user can be without it.
    struct Rules: ParsableArguments {
        @Flag(inversion: .prefixedNo, help: "A client's own mapping may write it.")
        var clientMappable: Bool?

        @Flag(inversion: .prefixedNo, help: "A user cannot be without it.")
        var required: Bool?

        @Option(help: "Who sees it: self (the user), users (others as well, where they see users), or server.")
        var visibleTo: Visibility?
        @Flag(inversion: .prefixedNo, help: "Its column has an index, which serves searches.")
        var indexed: Bool?

        var members: JSONObject {
            JSONObject(present: [
                "required": required.map(JSONValue.bool), "clientMappable": clientMappable.map(JSONValue.bool),
                "visibleTo": visibleTo.map { .string($0.rawValue) },
                "indexed": indexed.map(JSONValue.bool),
            ])
        }
    }

    struct List: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the properties of an application's users.",
            discussion: """
                Example:
                  federation property list demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(list: try await administration.properties.list(of: application.id), columns)
        }
    }

    private static let columns = [
        Column("PROPERTY", "name", .id), Column("TYPE", "type", .id), Column("REQUIRED", "required", .id),
        Column("CLIENT-MAPPABLE", "clientMappable", .id), Column("VISIBLE-TO", "visibleTo", .id),
        Column("BUILT-IN", "builtIn", .id),
        Column("INDEX", .rare) { $0["index"]?.object?["state"] },
        Column("PROBLEM", .rare) { $0["index"]?.object?["problem"] },
        Column("SLOW SEARCHES", .rare) { $0["slowSearches"]?.object?["count"] },
    ]

    struct Index: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Build the indexes of indexed properties now, and wait for them.",
            discussion: """
                A running service does it by itself, if its database role owns the users table.

                Example:
                  federation property index demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(list: try await administration.properties.index(application.id), columns)
        }
    }

    struct Declare: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Declare a property: add its column to the users table.",
            discussion: """
                Values that clients brought in under the name while it was undeclared move into the column.

                Examples:
                  federation property declare demo birthday DATE
                  federation property declare demo givenName STRING --client-mappable
                """
        )

        @OptionGroup var property: NameArgument

        @Argument(help: "What it holds.")
        var type: PropertyType

        @OptionGroup var rules: Rules
        @OptionGroup var precondition: PreconditionOption
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            var document: JSONObject = ["name": .string(property.name), "type": .string(type.rawValue)]
            for member in rules.members.members { document.append(member.key, member.value) }
            let declared = try await administration.properties.declare(
                of: property.application.id,
                .object(document),
                if: precondition.precondition,
                by: actor
            )
            try output.show(declared)
        }
    }

    struct Change: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Rename a property, widen its type, or change its rules.",
            discussion: """
                The mapping follows a new name. A type can only become one that holds every value of the old one.

                Examples:
                  federation property change demo city --name town
                  federation property change demo ageFrom --type DOUBLE --no-client-mappable
                  federation property change demo city --indexed
                """
        )

        @OptionGroup var property: NameArgument

        @Option(name: .customLong("name"), help: "Another name.")
        var newName: String?

        @Option(help: "A wider type.")
        var type: PropertyType?

        @OptionGroup var rules: Rules
        @OptionGroup var precondition: PreconditionOption
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard newName != nil || type != nil || !rules.members.members.isEmpty else {
                throw ValidationError("Name at least one thing to change.")
            }
        }

        func run(_ administration: Administration, by actor: Actor) async throws {
            var patch = JSONObject(present: [
                "name": newName.map(JSONValue.string), "type": type.map { .string($0.rawValue) },
            ])
            for member in rules.members.members { patch.append(member.key, member.value) }
            let changed = try await administration.properties.change(
                property.name,
                of: property.application.id,
                patch: .object(patch),
                if: precondition.precondition,
                by: actor
            )
            try output.show(changed)
        }
    }

    struct Remove: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a property with the values of all users.",
            discussion: """
                Drops the column. The mapping must not write the property any more.

                Example:
                  federation property remove demo city --confirm city
                """
        )

        @OptionGroup var property: NameArgument
        @OptionGroup var confirmation: ConfirmationOption
        @OptionGroup var precondition: PreconditionOption

        func run(_ administration: Administration, by actor: Actor) async throws {
            let (name, application) = (property.name, property.application.id)
            try confirmation.require(
                name,
                losing: "the property \(name) of \(application) with the values of all users"
            )
            try await administration.properties.remove(
                name,
                of: application,
                confirmation: name,
                if: precondition.precondition,
                by: actor
            )
            try Terminal.report("The property \(name) of \(application) is removed.")
        }
    }
}
