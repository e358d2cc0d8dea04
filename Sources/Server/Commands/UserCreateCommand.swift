import Administration
import ArgumentParser
import Domain
import Encodings

struct UserCreateCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a user.",
        discussion: """
            The rules of a registration apply, but not the setting newUsers. Without a password and without a mail, \
            the user has no login method yet. The mail needs FEDERATION_PUBLIC_URL, and is sent by a running instance.

            Examples:
              federation user create demo --property email=ann@example.com \\
                --property name=Ann --mail-link
              federation user create demo --property email=ben@example.com \\
                --password-stdin --role Guide
            """
    )

    @OptionGroup var application: ApplicationArgument

    @Option(
        help: ArgumentHelp(
            "A declared property and its value; JSON where the property is a number, a boolean or JSON. May be "
                + "repeated.",
            valueName: "name=value"
        )
    )
    var property: [PropertyValue] = []

    @OptionGroup var password: UserPasswordOptions

    @Flag(help: "Mail a link to choose a password.")
    var mailLink = false

    @Option(help: ArgumentHelp("A role of the application. Repeatable.", valueName: "role"))
    var role: [String] = []

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !password.isGiven || !mailLink else {
            throw ValidationError("Give a password or --mail-link, not both.")
        }
    }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let properties = try await administration.properties.list(of: application.id).body.object?["items"]?.array
        var user = JSONObject()
        for given in property {
            guard user[given.name] == nil else { throw Exit.refusing("the property \(given.name) is repeated") }
            let declared = properties?.first { $0.object?["name"]?.string == given.name }?.object
            let type = declared?["type"]?.string.flatMap { PropertyType(rawValue: $0) } ?? .string
            guard let value = type.value(typed: given.value) else {
                throw Exit.refusing("the value of \(given.name) is not valid JSON")
            }
            user.append(given.name, value)
        }
        let document = JSONObject(present: [
            "user": .object(user),
            "password": try password.read("Password").map { .string($0.reveal()) },
            "mail": mailLink ? .string("passwordReset") : nil,
            "roles": role.isEmpty ? nil : .array(role.map(JSONValue.string)),
        ])
        let made = try await administration.users.create(.object(document), of: application.id, by: actor)
        try output.show(made, like: "applications/{application}/users/{objectId}")
    }
}

/// A command-line argument such as `city=Berlin`: a property and its value.
///
/// The value may contain further equals signs.
struct PropertyValue: ExpressibleByArgument, Sendable {
    let name: String
    let value: String

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="), sign != argument.startIndex else { return nil }
        name = String(argument[..<sign])
        value = String(argument[argument.index(after: sign)...])
    }
}

/// The command-line options that pass a user's password.
struct UserPasswordOptions: SecretOptions {
    static let option = "password"
    static let isText = true

    @Option(name: .customLong("password-file"), help: "File with the password.", completion: .file())
    var file: String?

    @Flag(name: .customLong("password-stdin"), help: "Read the password from standard input.")
    var stdin = false

    @Option(name: [.customLong("password")], help: .private)
    var argument: String?
}

extension JSONObject {
    /// Creates an object from the members whose value is not nil.
    init(present members: KeyValuePairs<String, JSONValue?>) {
        self.init(members.compactMap { key, value in value.map { Member(key, $0) } })
    }
}
