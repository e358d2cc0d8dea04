import Administration
import ArgumentParser
import Domain
import Import
import Mapping
import Passwords

/// The file of an import, and the options that decide how it is read.
struct ImportSourceOptions: ParsableArguments {
    @Argument(help: "The file. It is read twice, so it cannot be a pipe.", completion: .file())
    var file: String

    @Option(help: "The source of the file.")
    var from: ImportSource

    @Option(
        help: ArgumentHelp(
            "The mapping of fields to properties. By default, fields go to properties of the same name.",
            valueName: "file"
        ),
        completion: .file(extensions: ["json"])
    )
    var mapping: String?

    @Option(
        help: ArgumentHelp(
            "The name of a field in plain CSV or NDJSON, such as passwordHash=pw. Repeatable.",
            valueName: "field=name"
        )
    )
    var field: [FieldName] = []

    @Option(
        help: ArgumentHelp(
            "A field that holds a provider's user id, such as facebook=fbId or facebook=fbId,app=ID. Repeatable.",
            valueName: "provider=field"
        )
    )
    var identity: [IdentityMember] = []

    @Option(
        help: ArgumentHelp("The Facebook app of the file's Facebook ids.", valueName: "id")
    )
    var facebookApp: String?

    @Option(
        help: ArgumentHelp(
            "The same for another provider, such as google=ID. Repeatable.",
            valueName: "provider=id"
        )
    )
    var app: [ProviderAppName] = []

    @Option(
        help: ArgumentHelp("Skip the identities of a provider. Repeatable.", valueName: "provider")
    )
    var withoutProvider: [ProviderName] = []

    @Option(
        help: ArgumentHelp(
            "Skip and count a member that looks like a login method and is not read. Repeatable.",
            valueName: "name"
        )
    )
    var withoutMember: [String] = []

    @Flag(help: "Skip password hashes: users set a new password by mail.")
    var withoutPasswords = false

    @Option(
        help: ArgumentHelp("The hash parameters from the Firebase console.", valueName: "file"),
        completion: .file()
    )
    var hashConfig: String?

    func validate() throws {
        if !field.isEmpty, from != .csv, from != .ndjson {
            throw ValidationError("--field is only for --from csv and --from ndjson.")
        }
        guard Set(identity.map(\.provider)).count == identity.count else {
            throw ValidationError("Give --identity once for each provider.")
        }
        if let facebookApp, ProviderAppID(facebookApp) == nil {
            throw ValidationError("--facebook-app must be the id of an app.")
        }
        if (hashConfig != nil) != (from == .firebase && !withoutPasswords) {
            throw ValidationError(
                "--from firebase needs --hash-config or --without-passwords. --hash-config is only for Firebase."
            )
        }
    }

    var inputFiles: [String] { [file] + [mapping, hashConfig].compactMap(\.self) }

    /// Returns the import of the file into an application.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - application: The application.
    ///   - position: Receives the number of bytes of each part that is read.
    /// - Returns: The import.
    /// - Throws: An exit code after printing the problem with an option.
    func job(
        on file: ImportFile,
        into application: ApplicationArgument,
        telling position: @escaping (Int) -> Void
    ) throws -> ImportJob {
        var job = ImportJob(
            application: application.id,
            source: from,
            options: try options(),
            fileHash: try file.digest()
        ) {
            try file.open(telling: position)
        }
        job.firebase = try hashConfig.map { .firebaseScrypt(try FirebaseScryptParameters(file: $0)) }
        return job
    }

    private func options() throws -> ImportOptions {
        var options = ImportOptions()
        if let mapping {
            do { options.mapping = try Mapping(try InputFile.json(mapping)) } catch let problems as MappingProblems {
                throw Exit.saying(problems.failure)
            }
        }
        for name in field { options.columns[name.field] = name.column }
        for name in app { options.apps[name.provider] = name.app }
        if let app = facebookApp.flatMap(ProviderAppID.init) { options.apps[ProviderName(known: "facebook")] = app }
        for identity in identity {
            options.identityMembers[identity.provider] = identity.member
            if let app = identity.app { options.apps[identity.provider] = app }
        }
        options.withoutProviders = Set(withoutProvider)
        options.withoutMembers = Set(withoutMember)
        options.withoutPasswords = withoutPasswords
        return options
    }
}
